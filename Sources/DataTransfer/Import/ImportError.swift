public import Records

/// The reason why an import failed or stopped.
public enum ImportError: Error, Sendable, CustomStringConvertible {
    /// A file does not exist or can't be opened.
    case noFile(path: String, reason: String)
    /// A file can't be read to its end.
    case unreadable(file: String, line: Int?, reason: String)
    /// Invalid rows: the first of them, the total number, and the number of other rows, which can be imported without them; `nil` if no
    /// row can be left out. Nothing was saved.
    case badRows([RowProblem], total: Int, others: Int?)
    /// The request contradicts itself, the data or the schema. Nothing was saved.
    case invalid(String)
    /// The database refused a record after others were saved.
    case stopped(saved: Int, file: String, line: Int, RecordError)
    /// The file of an asset can't be read.
    case noAsset(saved: Int, path: String, reason: String)
    /// A read error occurred after some records were saved.
    case brokenOff(saved: Int, reason: String)

    public var description: String {
        switch self {
        case .noFile(let path, let reason): return "Can't read '\(path)': \(reason)"
        case .unreadable(let file, let line, let reason): return "\(file)\(line.map { ":\($0)" } ?? ""): \(reason)"
        case .badRows(let problems, let total, let others):
            let lines = problems.map(\.description)
            let more = total > lines.count ? ["… and \(total - lines.count) more"] : []
            let remedy =
                switch others {
                case nil: ""
                case 0?: ", because there is no other row"
                case let others?: ". --skip-bad-rows imports the other \(others)"
                }
            return (["\(total) bad row\(total == 1 ? "" : "s"); nothing was imported\(remedy)"] + lines + more).joined(separator: "\n")
        case .invalid(let reason): return reason
        case .stopped(let saved, let file, let line, let error):
            return "\(file):\(line): the database refused the row after \(saved) records were saved: \(error)"
        case .noAsset(let saved, let path, let reason):
            let what = saved == 0 ? "nothing was" : saved == 1 ? "1 record was" : "\(saved) records were"
            return "Can't read '\(path)', the file of an asset: \(reason); \(what) saved"
        case .brokenOff(let saved, let reason): return "The import stopped after \(saved) records were saved: \(reason)"
        }
    }
}

/// A row that can't be imported.
public struct RowProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public let file: String
    /// The line number, counted from 1 and including the header.
    public let line: Int
    public let reason: String

    public init(file: String, line: Int, reason: String) {
        self.file = file
        self.line = line
        self.reason = reason
    }

    public var description: String { "\(file):\(line): \(reason)" }
}
