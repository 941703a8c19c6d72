public import Foundation
internal import GRDB

/// The file of the accounts can't be opened or read. Without it nobody can be told from anybody else, so nothing is served.
public struct UnreadableAccounts: LocalizedError, CustomStringConvertible {
    /// What is wrong, and what to do, without any value.
    public let description: String
    public var errorDescription: String? { description }

    init(_ error: any Error) {
        let problem =
            switch error {
            case let error as DatabaseError: "\(error.message ?? "an error of the database"), \(error.extendedResultCode)"
            case let error as DamagedAccount: error.description
            case is RowDecodingError: "a value is not of the kind that its column holds"
            default: error.localizedDescription
            }
        description = "accounts.sqlite can't be read (\(problem)). Restore a copy of it, or move it away: users, keys and tokens are then made anew"
    }
}

/// NULL, or a value of another kind than its column holds. The library's own `row["column"]` would end the process.
struct DamagedAccount: Error, CustomStringConvertible {
    let description: String
}

extension Row {
    /// A column, decoded.
    /// - Throws: ``DamagedAccount``.
    func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        guard hasColumn(column) else { throw DamagedAccount(description: "the column '\(column)' is missing") }
        let stored: DatabaseValue = self[column]
        guard let value = Value.fromDatabaseValue(stored) else {
            throw DamagedAccount(description: "the column '\(column)' holds \(stored.isNull ? "NULL" : "another kind of value than it should")")
        }
        return value
    }
}
