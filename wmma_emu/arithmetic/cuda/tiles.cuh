// SPDX-License-Identifier: MIT
// Tiles of D, decoded operands in shared memory, the elements of one thread.

// Decoded operands of DEPTH positions of k, one word per plane. Four more columns avoid bank conflicts.
struct alignas(16) Panel {
    int a[WORDS][DEPTH][TILE_ROWS + 4];
    int b[WORDS][DEPTH][TILE_COLUMNS + 4];
};

// The layout of the matrices: strides, and the offset of each matrix of the batch, all in elements.
struct Problem {
    const StoredOfA *a;
    const StoredOfB *b;
    const StoredOfC *c;
    StoredOfD *d;
    const long long *offsets;
    long long batch, m, n, positions, a_row, a_k, b_k, b_column, c_row, c_column;
};

// The tile of a block: the matrix, the first row and column, and the numbers of rows and columns.
struct Tile {
    long long matrix, row, column;
    int rows, columns;
};

FUNCTION Tile tile_of(const Problem &p, long long index) {
    long long down = (p.m + TILE_ROWS - 1) / TILE_ROWS, across = (p.n + TILE_COLUMNS - 1) / TILE_COLUMNS;
    long long row = index / across % down * TILE_ROWS, column = index % across * TILE_COLUMNS;
    int rows = (int)min(p.m - row, (long long)TILE_ROWS), columns = (int)min(p.n - column, (long long)TILE_COLUMNS);
    return {index / (down * across), row, column, rows, columns};
}

// A thread's state of its elements: the running sum, and the part that is added at the end of an instruction.
struct Elements {
    Bits running[ROWS][COLUMNS];
    Bits partial[ROWS][COLUMNS];
};

// The rows and columns of a thread are in groups of four. A warp has four by eight threads.
FUNCTION int row_of(int thread, int i) { return (thread / 64 * 4 + thread / 8 % 4) * 4 + i % 4 + i / 4 * 64; }
FUNCTION int column_of(int thread, int j) { return (thread / 32 % 2 * 8 + thread % 8) * 4 + j % 4 + j / 4 * 64; }

#define EACH_ELEMENT \
    _Pragma("unroll") for (int i = 0; i < ROWS; ++i) \
    _Pragma("unroll") for (int j = 0; j < COLUMNS; ++j)

template <int COUNT, class Plane>
FUNCTION void read_four(int (&values)[COUNT], const Plane &line, int first) {
    _Pragma("unroll") for (int i = 0; i < COUNT; i += 4) {
        int4 four = *(const int4 *)&line[first + i / 4 * 64];
        values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
    }
}

// The k of a position, or -1 for padding.
FUNCTION long long k_of(long long position) {
    if (IN_ORDER) return position;
    word instruction = (word)position / POSITIONS, of_instruction = (word)position % POSITIONS;  // fast in 32 bits
    int k = ORDER[of_instruction];
    return k < 0 ? -1 : (long long)instruction * K + k;
}

// Operands of one word, an integer.
template <class Lines>
FUNCTION void write(Lines &lines, int k, int place, int x) { lines[0][k][place] = x; }

FUNCTION void read(int (&x)[ROWS], int (&y)[COLUMNS], const Panel &panel, int k, int thread) {
    read_four(x, panel.a[0][k], row_of(thread, 0));
    read_four(y, panel.b[0][k], column_of(thread, 0));
}
