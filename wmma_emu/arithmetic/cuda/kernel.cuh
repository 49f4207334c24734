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

// Rows of A or columns of B, which are +0 beyond the matrix. Adjacent threads read adjacent elements: of k or of lines.
template <int LINES, auto DECODE, class Stored, class Lines>
FUNCTION void load_lines(
    const Stored *x, long long line_step, long long k_step, int lines, long long position, int depth, int thread,
    Lines &decoded) {
    static_assert(THREADS % DEPTH == 0 && THREADS % LINES == 0, "each thread reads a line or a k");
    bool along_k = k_step == 1;
    int here = along_k ? thread % DEPTH : thread / LINES, line = along_k ? thread / DEPTH : thread % LINES;
    int next_here = along_k ? 0 : THREADS / LINES, next_line = along_k ? THREADS / DEPTH : 0;
    x += line * line_step + (IN_ORDER ? (position + here) * k_step : 0);
    long long step = next_line * line_step + (IN_ORDER ? next_here * k_step : 0);
    _Pragma("unroll") for (int part = 0; part < DEPTH * LINES / THREADS; ++part) {
        long long k = IN_ORDER || here >= depth ? 0 : k_of(position + here);
        bool inside = here < depth && line < lines && k >= 0;
        write(decoded, here, line, DECODE(inside ? x[k * k_step] : 0));
        x += step, here += next_here, line += next_line;
    }
}

FUNCTION void load_panel(const Problem &p, const Tile &tile, long long position, int thread, Panel &panel) {
    const StoredOfA *a = p.a + p.offsets[tile.matrix] + tile.row * p.a_row;
    const StoredOfB *b = p.b + p.offsets[p.batch + tile.matrix] + tile.column * p.b_column;
    int depth = (int)min(p.positions - position, (long long)DEPTH);
    load_lines<TILE_ROWS, decode_a>(a, p.a_row, p.a_k, tile.rows, position, depth, thread, panel.a);
    load_lines<TILE_COLUMNS, decode_b>(b, p.b_column, p.b_k, tile.columns, position, depth, thread, panel.b);
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

// A multiprocessor holds BLOCKS at once, which limits the registers of a thread.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) matmul(
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
