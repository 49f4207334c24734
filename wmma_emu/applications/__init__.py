# SPDX-License-Identifier: MIT
"""What is built on the emulator, and what nothing of the emulator imports: probes, analyses, campaigns, the explorer.

`wmma_emu.testing`, `wmma_emu.gpu` and `wmma_emu.viz` are where users import it from.
"""
