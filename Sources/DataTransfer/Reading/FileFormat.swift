public import Foundation

/// How the rows of a file are written.
public enum FileFormat: String, Sendable, Hashable, CaseIterable {
    /// Comma-separated values (RFC 4180) with a header row.
    case csv
    /// The same, separated by tabs.
    case tsv
    /// One array of objects.
    case json
    /// One object in each line.
    case ndjson

    /// The format that a file's name says, `nil` when it says none.
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
