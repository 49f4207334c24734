// SPDX-License-Identifier: MIT
// The phases that the threads of a block execute together, and the kernel.

FUNCTION void begin(const Problem &p, const Tile &tile, int thread, Elements &e) {
    const StoredOfC *c = p.c + p.offsets[2 * p.batch + tile.matrix] + tile.row * p.c_row + tile.column * p.c_column;
    EACH_ELEMENT {
        int row = row_of(thread, i), column = column_of(thread, j);
        bool inside = row < tile.rows && column < tile.columns;
        e.running[i][j] = enter(inside ? c[row * p.c_row + column * p.c_column] : 0);
        e.partial[i][j] = 0;
    }
}

// Elements beyond the matrices are +0. Adjacent threads read adjacent k of A and adjacent columns of B.
FUNCTION void load_panel(const Problem &p, const Tile &tile, long long position, int thread, Panel &panel) {
    const StoredOfA *a = p.a + p.offsets[tile.matrix] + tile.row * p.a_row;
    const StoredOfB *b = p.b + p.offsets[p.batch + tile.matrix] + tile.column * p.b_column;
    int depth = (int)min(p.positions - position, (long long)DEPTH);
    _Pragma("unroll") for (int index = thread; index < DEPTH * TILE_ROWS; index += THREADS) {
        int here = index % DEPTH, row = index / DEPTH;
        long long k = here < depth ? k_of(position + here) : -1;
        bool inside = k >= 0 && row < tile.rows;
        write(panel.a, here, row, decode_a(inside ? a[row * p.a_row + k * p.a_k] : 0));
    }
    _Pragma("unroll") for (int index = thread; index < DEPTH * TILE_COLUMNS; index += THREADS) {
        int here = index / TILE_COLUMNS, column = index % TILE_COLUMNS;
        long long k = here < depth ? k_of(position + here) : -1;
        bool inside = k >= 0 && column < tile.columns;
        write(panel.b, here, column, decode_b(inside ? b[k * p.b_k + column * p.b_column] : 0));
    }
}

FUNCTION void take_panel(const Problem &p, long long position, int thread, const Panel &panel, Elements &e) {
    int of_instruction = (int)(position % POSITIONS), depth = (int)min(p.positions - position, (long long)DEPTH);
    _Pragma("unroll 1") for (int first = 0; first < depth; first += TERMS) {
        take_step(panel, first, thread, of_instruction, e);
        of_instruction += TERMS;
        if (of_instruction == POSITIONS) {
            of_instruction = 0;
            if (LEAVES_AND_ENTERS) EACH_ELEMENT e.running[i][j] = enter(leave(e.running[i][j]));
        }
    }
}

FUNCTION void finish(const Problem &p, const Tile &tile, int thread, const Elements &e) {
    StoredOfD *d = p.d + (tile.matrix * p.m + tile.row) * p.n + tile.column;
    EACH_ELEMENT {
        int row = row_of(thread, i), column = column_of(thread, j);
        if (row < tile.rows && column < tile.columns) d[row * p.n + column] = (StoredOfD)leave(e.running[i][j]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) matmul(
    const StoredOfA *a, const StoredOfB *b, const StoredOfC *c, StoredOfD *d, const long long *offsets,
    long long batch, long long m, long long n, long long positions, long long a_row, long long a_k, long long b_k,
    long long b_column, long long c_row, long long c_column, long long first_tile) {
    extern __shared__ int4 shared[];
    Panel &panel = *(Panel *)shared;
    Problem p = {a, b, c, d, offsets, batch, m, n, positions, a_row, a_k, b_k, b_column, c_row, c_column};
    Tile tile = tile_of(p, first_tile + blockIdx.x);
    Elements elements;
    begin(p, tile, threadIdx.x, elements);
    for (long long position = 0; position < positions; position += DEPTH) {
        __syncthreads();
        load_panel(p, tile, position, threadIdx.x, panel);
        __syncthreads();
        take_panel(p, position, threadIdx.x, panel, elements);
    }
    finish(p, tile, threadIdx.x, elements);
}
