public import Foundation

/// The format of a file's rows.
public enum FileFormat: String, Sendable, Hashable, CaseIterable {
    /// Comma-separated values (RFC 4180) with a header row. Semicolons, tabs and bars are recognized, too.
    case csv
    /// Tab-separated values with a header row. It is ``csv`` with another delimiter at a tie.
    case tsv
    /// One JSON array of objects.
    case json
    /// One JSON object per line.
    case ndjson

    /// The format for a file name extension; `nil` if it is unknown.
    public init?(of file: URL) {
        switch file.pathExtension.lowercased() {
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "json": self = .json
        case "ndjson", "jsonl": self = .ndjson
        default: return nil
        }
    }
}
