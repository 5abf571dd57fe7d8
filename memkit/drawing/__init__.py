"""Draw trees and graphs as SVG, Graphviz DOT or Mermaid: one value, three writers, no program needed."""
