"""Pictures as files: PNG, MP4 and GIF, and strips of frames."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kinema.errors import BuildError, need

VIDEO = (".mp4", ".gif")


def write_png(path: str | Path, picture: np.ndarray) -> None:
    """Write a picture: (height, width, 3) bytes; depth and segmentation are made visible first."""
    _pillow().fromarray(visible(picture)).save(path, format="PNG", optimize=True)


def write_video(path: str | Path, frames: Iterable[np.ndarray], fps: float = 30.0) -> int:
    """Write frames as .mp4 or .gif and say how many there were. Frames are taken one by one, as they are made."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in VIDEO:
        raise BuildError(f"{path.name}: a video is written as {' or '.join(VIDEO)}")
    if not fps > 0:
        raise BuildError(f"fps={fps}: it must be positive")
    write = _write_gif if suffix == ".gif" else _write_mp4
    count = write(path, (visible(frame) for frame in frames), fps)
    if not count:
        raise BuildError(f"{path.name}: there is no frame to write")
    return count


def filmstrip(frames: Iterable[np.ndarray], columns: int | None = None, gap: int = 2) -> np.ndarray:
    """Frames side by side in one picture, in rows of `columns` (all in one row by default), white between them."""
    frames = [visible(frame) for frame in frames]
    if not frames:
        raise BuildError("a filmstrip needs at least one frame")
    sizes = {frame.shape for frame in frames}
    if len(sizes) > 1:
        raise BuildError(f"frames of a filmstrip must have one size, not {sorted(sizes)}")
    height, width, _ = frames[0].shape
    columns = min(columns or len(frames), len(frames))
    rows = -(-len(frames) // columns)
    strip = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, np.uint8)
    for k, frame in enumerate(frames):
        y, x = (k // columns) * (height + gap), (k % columns) * (width + gap)
        strip[y : y + height, x : x + width] = frame
    return strip


def visible(picture: np.ndarray) -> np.ndarray:
    """Any picture as (height, width, 3) bytes: depth as grey, near is bright; objects in colours of their own."""
    picture = np.asarray(picture)
    if picture.ndim == 3 and picture.dtype == np.uint8 and picture.shape[2] == 3:
        return picture
    if picture.ndim == 3 and picture.shape[2] == 2 and np.issubdtype(picture.dtype, np.integer):
        seen = picture[..., 1] >= 0
        turn = (picture[..., 0] * 0.618034 + picture[..., 1] * 0.37) % 1.0  # the golden ratio keeps neighbours apart
        colour = 0.55 + 0.4 * np.cos(2 * np.pi * (turn[..., None] + np.array([0.0, 1 / 3, 2 / 3])))
        return np.where(seen[..., None], colour * 255, 0).astype(np.uint8)
    if picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] == 1):
        depth = picture.reshape(picture.shape[:2]).astype(float)
        close = 1.0 / np.maximum(depth, 1e-9)  # differences count most near the eye
        grey = (close - close.min()) / max(close.max() - close.min(), 1e-12)
        return np.repeat((grey * 255).astype(np.uint8)[..., None], 3, axis=2)
    raise BuildError(f"shape {picture.shape} of {picture.dtype} is no picture: it has (height, width, 3) bytes")


def _write_gif(path: Path, frames: Iterable[np.ndarray], fps: float) -> int:
    pillow = _pillow()
    pictures = [pillow.fromarray(frame).quantize(128) for frame in frames]
    if pictures:
        pictures[0].save(
            path, format="GIF", save_all=True, append_images=pictures[1:], duration=max(20, round(1000 / fps)), loop=0
        )
    return len(pictures)


def _write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float) -> int:
    imageio_ffmpeg = need("imageio_ffmpeg", "video", "Videos")
    writer, count = None, 0
    try:
        for frame in frames:
            frame = frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]  # the codec wants even sizes
            if writer is None:
                writer = imageio_ffmpeg.write_frames(
                    str(path), (frame.shape[1], frame.shape[0]), fps=fps, macro_block_size=2, quality=8
                )
                writer.send(None)
            writer.send(np.ascontiguousarray(frame))
            count += 1
    finally:
        if writer is not None:
            writer.close()
    return count


def _pillow():
    return need("PIL.Image", "video", "Pictures in files")
