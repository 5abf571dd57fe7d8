"""A run as one page that needs nothing else: no script, no font, no picture and no request."""

from .page import page

__all__ = ["page"]
