public import Foundation
internal import GRDB

/// The accounts file can't be opened or read. The server does not start without it, because it could not authenticate
/// anyone.
public struct UnreadableAccounts: LocalizedError, CustomStringConvertible {
    /// The problem and the remedy, without any values.
    public let description: String
    public var errorDescription: String? { description }

    init(_ error: any Error) {
        if error is NewerAccounts {
            description = "accounts.sqlite was written by a newer version of Skylight; use that version"
            return
        }
        let problem =
            switch error {
            case let error as DatabaseError: "\(error.message ?? "an error of the database"), \(error.extendedResultCode)"
            case let error as DamagedAccount: error.description
            case is RowDecodingError: "a value has the wrong type for its column"
            default: error.localizedDescription
            }
        description = "accounts.sqlite can't be read (\(problem)). Restore a backup, or move the file away: the server then starts without users, keys and tokens"
    }
}

/// The file has tables that this version does not know, and whose meaning it could lose.
struct NewerAccounts: Error {}

/// A NULL or a value of the wrong type. GRDB's `row["column"]` would trap on it.
struct DamagedAccount: Error, CustomStringConvertible {
    let description: String
}

extension Row {
    /// Decodes a column.
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
