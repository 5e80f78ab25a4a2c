//! Tests of the declaration, the places and the draws of cells.
