"""What a compiled CUDA kernel takes of a thread, read from the file of the compiler (ELF, section .nv.info)."""

import struct
from pathlib import Path

FRAME = 0x11  # EIATTR_FRAME_SIZE: bytes of stack
REGISTERS = 0x2F  # EIATTR_REGCOUNT: registers of a thread


def frames(path: Path) -> dict[str, int]:
    """Bytes of stack of every function in a .cubin file."""
    return attributes(path, FRAME)


def registers(path: Path) -> dict[str, int]:
    """Registers of a thread of every kernel in a .cubin file."""
    return attributes(path, REGISTERS)


def attributes(path: Path, wanted: int) -> dict[str, int]:
    """A number of every function in a .cubin file."""
    text = path.read_bytes()
    table, size, count, names_at = struct.unpack_from("<Q", text, 0x28)[0], *struct.unpack_from("<HHH", text, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", text, table + k * size) for k in range(count)]

    def string(at: int) -> str:
        return text[at : text.index(b"\0", at)].decode()

    sections = {string(heads[names_at][4] + head[0]): (head[4], head[5]) for head in heads}
    (symbols, length), (strings, _) = sections[".symtab"], sections[".strtab"]
    names = [string(strings + struct.unpack_from("<I", text, symbols + 24 * k)[0]) for k in range(length // 24)]
    found, (at, length) = {}, sections[".nv.info"]
    end = at + length
    while at < end:
        form, kind, extent = struct.unpack_from("<BBH", text, at)
        if form == 4 and kind == wanted:
            symbol, value = struct.unpack_from("<II", text, at + 4)
            found[names[symbol]] = value
        at += 4 + (extent if form == 4 else 0)
    return found
