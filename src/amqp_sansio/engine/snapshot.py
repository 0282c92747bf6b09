"""A session as a plain value, and back again."""
from __future__ import annotations
