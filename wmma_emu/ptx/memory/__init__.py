# SPDX-License-Identifier: MIT
"""What a kernel's addresses reach: arrays of the user, the module's variables, shared and local memory, parameters."""
