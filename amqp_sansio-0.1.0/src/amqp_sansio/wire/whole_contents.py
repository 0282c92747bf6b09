"""Contents of the older dialects that lie whole in the buffer, as most do: cut in one step."""

from __future__ import annotations

from amqp_sansio.wire.method_frames import (
    CONTENT_BODY,
    CONTENT_HEADER,
    FRAME_END,
    FRAME_HEAD,
    HEADER_HEAD,
    OVERHEAD,
    frame_head,
)
from amqp_sansio.wire.octets import u64


def cut_content(
    buffer: bytes, at: int, channel: int, of_class: bytes, largest: int, header_octets: int
) -> tuple[bytes, bytes | None, int] | None:
    """The header and body of a content that lies whole from `at` on, in one body frame or none, and where it ends.

    It means what the frames mean one by one: everything that they could be refused for makes it give up, and they are
    read one by one then.  `largest`: octets of a frame; `header_octets`: those of a header.
    """
    body_at = at + FRAME_HEAD + HEADER_HEAD + 1
    if len(buffer) < body_at:
        return None
    kind, of, size = frame_head(buffer, at)
    if kind != CONTENT_HEADER or of != channel or not HEADER_HEAD <= size <= header_octets:
        return None
    body_at = end = at + size + OVERHEAD
    if size + OVERHEAD > largest or len(buffer) < end or buffer[end - 1] != FRAME_END:
        return None
    header = buffer[at + FRAME_HEAD : end - 1]
    octets = u64(header, 4)[0]
    if header[:4] != of_class + b"\0\0":
        return None
    if not octets:
        return header, None, end
    if len(buffer) < body_at + FRAME_HEAD:
        return None
    kind, of, size = frame_head(buffer, body_at)
    end = body_at + size + OVERHEAD
    if kind != CONTENT_BODY or of != channel or size != octets or len(buffer) < end or buffer[end - 1] != FRAME_END:
        return None
    return None if size + OVERHEAD > largest else (header, buffer[body_at + FRAME_HEAD : end - 1], end)
