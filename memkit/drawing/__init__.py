"""Draw trees and graphs as SVG or Mermaid: one value, two writers, no program needed."""
