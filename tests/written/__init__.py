"""What only the developers of memkit write: pages, examples and releases in the checkout, each made from its source.

``make outputs`` and ``make template-release`` run these modules from the checkout; no wheel carries them.
"""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
