internal import Foundation
internal import Records
internal import Synchronization

/// An error that keeps a store from being opened, read or written, with texts for clients and for the log.
struct StoreProblem {
    let refusal: RecordError
    /// The database's message, code and statement, without values.
    let details: String
    /// True if the file is damaged, so that retrying does not help.
    let isDamage: Bool

    private static let remedy =
        "Restore a backup of the container's folder, or export the readable records with `skylight export`"

    /// - Returns: `nil` for an error that does not concern the store.
    init?(_ error: any Error, reading key: StoreKey) {
        switch error {
        case let error as SQLError:
            details = Self.details(of: error)
            // A missing table or column counts as damage, like a corrupt page.
            isDamage = error.cause == .damaged || error.cause == .noTable
            if let shortage = Self.shortageOfFiles(error) {
                refusal = shortage
            } else if error.isPassing {
                refusal = Self.away(error.reason)
            } else {
                let end =
                    isDamage
                    ? "the file is damaged. \(Self.remedy)"
                    : error.cause == .disk
                        ? "the disk reported an error. Look after the disk" : "that may pass. Ask again"
                refusal = RecordError(.internalError, "\(key) can't be read (\(Self.words(for: error))): \(end)")
            }
        case is DamagedRow:
            details = Self.words(for: error)
            isDamage = true
            refusal = RecordError(.internalError, "\(key) is damaged: \(Self.words(for: error)). \(Self.remedy)")
        default: return nil
        }
    }

    private static func away(_ words: String) -> RecordError {
        RecordError(.tryAgainLater, "The database does not answer (\(words)); try again", retryAfter: 1)
    }

    /// The error of an operation that does not concern a single store.
    /// - Parameters:
    ///   - task: what failed, such as `The containers can't be listed`.
    ///   - words: a description of the error.
    static func refusal(_ task: String, after error: SQLError, _ words: String) -> RecordError {
        shortageOfFiles(error) ?? (error.isPassing ? away(words) : RecordError(.internalError, "\(task): \(words)"))
    }

    /// A short description of the error for clients.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as SQLError where error.isForLog: return "\(error.reason), \(error.code)"
        case let error as CocoaError: return error.words
        case let error as POSIXError: return error.words
        default: return "\(error)"
        }
    }

    /// A description of the error for the log.
    static func details(of error: any Error) -> String {
        guard let error = error as? SQLError else { return words(for: error) }
        return error.sql.map { "\(error), in: \($0)" } ?? "\(error)"
    }

    /// The error for clients if the process has reached its limit on open files; `nil` for other causes.
    static func shortageOfFiles(_ error: SQLError) -> RecordError? {
        guard error.cause == .cannotOpen, OpenFiles.isAtLimit else { return nil }
        return OpenFiles.shortage
    }

    /// True if the file may still be readable although it can't be written.
    static func isOfWriting(_ error: any Error) -> Bool {
        guard let error = error as? SQLError, shortageOfFiles(error) == nil else { return false }
        return [.full, .readOnly, .cannotOpen].contains(error.cause)
    }

    /// The error for a store whose tables this version does not know.
    static func newer(_ key: StoreKey) -> RecordError {
        RecordError(.internalError, "\(key) was written by a newer version of Skylight; use that version")
    }

    /// The error for writes to a read-only store.
    static func readOnly(_ key: StoreKey, because error: any Error) -> RecordError {
        if (error as? SQLError)?.cause == .full { return .diskFull }
        if (error as? POSIXError)?.code == .ENOSPC || (error as? CocoaError)?.code == .fileWriteOutOfSpace {
            return .diskFull
        }
        return RecordError(
            .internalError,
            "\(key) can't be written to (\(words(for: error))); let the server write to its folder and save again")
    }
}

extension RecordError {
    static let diskFull = RecordError(
        .quotaExceeded, "The disk is full; nothing was saved. Free some space and save again")
}

// MARK: - Outage of a store

/// The reason why a store can't be opened or read, and the time when that began.
struct StoreOutage: Sendable, Equatable {
    let reason: RecordError
    let since: Timestamp

    init(_ reason: RecordError, since: Timestamp) {
        self.reason = reason
        self.since = since
    }
}

// MARK: - Damaged rows

/// Reports an invalid value in a row of a damaged file. It is thrown instead of trapping, because no file content may
/// crash the process.
struct DamagedRow: Error, CustomStringConvertible {
    /// The table, the column and the problem, without the value.
    let description: String

    /// - Parameter problem: the predicate of a sentence whose subject is the table.
    init(in table: String, _ problem: String) {
        description = "the table '\(table)' \(problem)"
    }

    init(in table: String, column: String, holding kind: SQLCell.Kind) {
        let kind =
            switch kind {
            case .null: "NULL"
            case .text: "text"
            case .bytes, .textOrBytes: "bytes"
            default: "a number of another kind"
            }
        self.init(in: table, "has \(kind) in its column '\(column)', which is the wrong type")
    }
}

// MARK: - Messages in the log

/// Messages logged recently. Prevents repeated requests from filling the log with the same error.
final class RecentMessages: Sendable {
    /// A message is logged again after this time, since it may be a new incident.
    private static let pause = Duration.seconds(3600)
    /// Maximum number of different messages within ``pause``. Further ones are not logged.
    private static let limit = 64

    private let logged = Mutex<[String: ContinuousClock.Instant]>([:])

    /// True if the message should be logged. It is then remembered as logged.
    func isNew(_ message: String, at now: ContinuousClock.Instant = .now) -> Bool {
        logged.withLock { logged in
            if let last = logged[message], now - last < Self.pause { return false }
            if logged.count >= Self.limit { logged = logged.filter { now - $0.value < Self.pause } }
            guard logged.count < Self.limit else { return false }
            logged[message] = now
            return true
        }
    }
}
