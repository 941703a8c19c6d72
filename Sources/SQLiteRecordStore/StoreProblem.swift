internal import GRDB

/// What is said of errors that keep a store from being opened, read or written.
enum StoreProblem {
    /// What went wrong, with SQLite's code and message but without any value.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as DatabaseError: "\(error.message ?? "an error of the database") (\(error.extendedResultCode))"
        case let error as DamagedRow: "the file is damaged: \(error)"
        case is RowDecodingError: "the file is damaged: a value is not of the kind that its column holds"
        default: "\(error)"
        }
    }
}
