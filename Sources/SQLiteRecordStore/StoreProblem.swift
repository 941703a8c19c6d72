internal import Foundation
internal import GRDB
internal import Records

/// An error that keeps a store from being opened, read or written, with texts for clients and for the log.
struct StoreProblem {
    let refusal: RecordError
    /// SQLite's message, extended code and statement, without values.
    let details: String
    /// True if the file is damaged, so that retrying does not help.
    let isDamage: Bool

    private static let remedy = "Restore a backup of the container's folder, or export the readable records with `skylight export`"

    /// - Returns: `nil` for an error that does not concern the store.
    init?(_ error: any Error, reading key: StoreKey) {
        switch error {
        case let error as DatabaseError:
            details = Self.details(of: error)
            isDamage = Self.isDamage(error)
            if let shortage = Self.shortageOfFiles(error) {
                refusal = shortage
            } else {
                let end =
                    isDamage ? "the file is damaged. \(Self.remedy)"
                    : error.resultCode == .SQLITE_IOERR ? "the disk reported an error. Look after the disk" : "that may pass. Ask again"
                refusal = RecordError(.internalError, "\(key) can't be read (\(Self.words(for: error))): \(end)")
            }
        case is DamagedRow, is RowDecodingError:
            details = Self.words(for: error)
            isDamage = true
            refusal = RecordError(.internalError, "\(key) is damaged: \(Self.words(for: error)). \(Self.remedy)")
        default: return nil
        }
    }

    /// A missing table or column counts as damage, like a corrupt page. Other statement errors are not caused by the
    /// file.
    private static func isDamage(_ error: DatabaseError) -> Bool {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: true
        case .SQLITE_ERROR: ["no such table", "no such column", "malformed database schema"].contains { error.message?.hasPrefix($0) == true }
        default: false
        }
    }

    /// A short description of the error.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as DatabaseError: "\(error.message ?? "an error of the database"), \(error.extendedResultCode)"
        case let error as DamagedRow: error.description
        case is RowDecodingError: "a value has the wrong type for its column"
        default: "\(error)"
        }
    }

    static func details(of error: any Error) -> String {
        guard let error = error as? DatabaseError, let sql = error.sql else { return words(for: error) }
        return "\(words(for: error)), in: \(sql)"
    }

    /// The error for clients if the process has reached its limit on open files; `nil` for other causes.
    static func shortageOfFiles(_ error: DatabaseError) -> RecordError? {
        guard error.resultCode == .SQLITE_CANTOPEN, OpenFiles.isAtLimit else { return nil }
        return OpenFiles.shortage
    }

    /// True if the file may still be readable although it can't be written.
    static func isOfWriting(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError, shortageOfFiles(error) == nil else { return false }
        // On a full disk creating the log's index (`-shm`) fails first.
        return [.SQLITE_FULL, .SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode) || isOfLogIndex(error)
    }

    /// True if the log's index could not be created or extended. SQLite reports this as an I/O error.
    static func isOfLogIndex(_ error: DatabaseError) -> Bool {
        [.SQLITE_IOERR_SHMOPEN, .SQLITE_IOERR_SHMSIZE].contains(error.extendedResultCode)
    }

    /// The error for writes to a read-only store.
    static func readOnly(_ key: StoreKey, because error: any Error) -> RecordError {
        if let error = error as? DatabaseError, error.resultCode == .SQLITE_FULL || isOfLogIndex(error) { return .diskFull }
        if (error as? POSIXError)?.code == .ENOSPC || (error as? CocoaError)?.code == .fileWriteOutOfSpace { return .diskFull }
        return RecordError(.internalError, "\(key) can't be written to (\(words(for: error))); let the server write to its folder and save again")
    }
}

extension RecordError {
    static let diskFull = RecordError(.quotaExceeded, "The disk is full; nothing was saved. Free some space and save again")
}
