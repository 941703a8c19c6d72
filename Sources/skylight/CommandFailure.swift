import ArgumentParser
import DataTransfer
import Foundation
import Records
import SQLRecordStore

/// The error of a command, as text or, with `--json`, as JSON.
struct CommandFailure: Error {
    let status: ExitStatus
    let code: String
    let reason: String
    /// Advice for the user.
    let remedy: String?
    /// The invalid rows of an import.
    var rows: [RowProblem] = []
    var rowCount = 0
    /// Additional lines below the reason.
    var details: [String] = []
    /// Additional members of the error's JSON.
    var members: (@Sendable (inout JSONWriter) -> Void)?

    init(_ status: ExitStatus, _ reason: String, code: String? = nil, remedy: String? = nil) {
        self.status = status
        self.code = code ?? status.code
        self.reason = reason
        self.remedy = remedy
    }

    /// The error of a command that needs `--yes`.
    static func confirmationNeeded(_ reason: String, remedy: String = "Add --yes to confirm") -> CommandFailure {
        CommandFailure(.usage, reason, code: "CONFIRMATION_NEEDED", remedy: remedy)
    }

    /// The error of a command that compares. Its status 1 means that there are differences, so errors must use another
    /// status, even for a damaged store.
    static func otherThanDifferent(_ error: any Error) -> any Error {
        guard let failure = CommandFailure(error), failure.status == .failed else { return error }
        return CommandFailure(
            failure.code == "NOT_FOUND" ? .noInput : .badData, failure.reason, code: failure.code,
            remedy: failure.remedy)
    }

    /// - Returns: `nil` for errors of the argument parser, which formats them itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as ImportError: self.init(error)
        case let error as RecordError: self.init(error)
        case let error as DataFolderInUse:
            self.init(
                .tryAgain, "The data folder \(error.path) is open in another Skylight process, which is not a server",
                remedy:
                    "It may be an import, or a server that starts or stops. Try again when it is done, or use another folder with --data"
            )
        case let error as AssetFileError: self.init(.cannotWrite, "The file of an asset can't be used: \(error)")
        case let error as ExportError: self.init(.failed, error.description, code: "NOT_FOUND")
        case let error as SnapshotError: self.init(error)
        case let error as CocoaError: self.init(.failed, error.words)
        case let error as POSIXError: self.init(.failed, error.words)
        case is ValidationError, is ExitCode, is CleanExit: return nil
        default:
            // The parser's own error types are not public, but all of them have its exit code.
            if Skylight.exitCode(for: error).rawValue == ExitStatus.usage.rawValue { return nil }
            self.init(.failed, "\(error)")
        }
    }

    private init(_ error: ImportError) {
        switch error {
        case .noFile: self.init(.noInput, error.description)
        case .unreadable, .invalid: self.init(.badData, error.description)
        case .badRows(let rows, let total, let others):
            let correct = "Correct \(total == 1 ? "it" : "them")"
            self.init(
                .badData,
                "\(total) bad row\(total == 1 ? "" : "s"); nothing was imported\(others == 0 ? ", because there is no other row" : "")",
                remedy: others ?? 0 > 0 ? "\(correct), or import the other rows with --skip-bad-rows" : correct)
            self.rows = rows
            rowCount = total
        case .stopped(let saved, _, _, let cause):
            self.init(.failed, error.description, code: cause.code.rawValue, remedy: saved == 0 ? nil : Self.runAgain)
        case .noAsset(let saved, _, _): self.init(.noInput, error.description, remedy: saved == 0 ? nil : Self.runAgain)
        case .brokenOff: self.init(.failed, error.description, remedy: Self.runAgain)
        }
    }

    private init(_ error: SnapshotError) {
        switch error.kind {
        case .invalid: self.init(.usage, error.description)
        case .missing: self.init(.failed, error.description, code: "NOT_FOUND")
        case .exists: self.init(.failed, error.description, code: "EXISTS")
        case .unwritable: self.init(.cannotWrite, error.description)
        case .damaged: self.init(.badData, error.description)
        case .refused: self.init(.failed, error.description)
        }
    }

    private static let runAgain =
        "Import the file again if it is an export or has --name-field: saved records are replaced, not duplicated"

    private init(_ error: RecordError) {
        let status: ExitStatus =
            switch error.code {
            case .accessDenied, .authenticationFailed, .authenticationRequired: .notPermitted
            case .tryAgainLater, .throttled: .tryAgain
            default: .failed
            }
        self.init(status, error.reason, code: error.code.rawValue)
    }

    /// Prints the error and ends the process.
    func end(asJSON: Bool) -> Never {
        if asJSON {
            Output.note(String(decoding: json, as: UTF8.self))
        } else {
            var lines = ["skylight: \(reason)"]
            lines += rows.map { "  \($0)" }
            if rowCount > rows.count { lines.append("  … and \(rowCount - rows.count) more") }
            lines += details.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" } }
            if let remedy { lines.append("\(remedy).") }
            Output.note(lines.joined(separator: "\n"))
        }
        exit(status.rawValue)
    }

    private var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("error")
            writer.object { writer in
                writer.member("code", code)
                writer.member("reason", reason)
                if let remedy { writer.member("remedy", remedy) }
                writer.member("exitCode", Int64(status.rawValue))
                if rowCount > 0 {
                    writer.member("rowCount", Int64(rowCount))
                    writer.member("rows") { $0.value(rows) }
                }
                members?(&writer)
            }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes rows that could not be imported.
    mutating func value(_ rows: [RowProblem]) {
        array { writer in
            for row in rows {
                writer.object { writer in
                    writer.member("file", row.file)
                    writer.member("line", Int64(row.line))
                    writer.member("reason", row.reason)
                }
            }
        }
    }
}

// MARK: - Exit status

/// The exit status of a failed command, with numbers from sysexits.h.
enum ExitStatus: Int32 {
    case failed = 1
    case usage = 64
    case badData = 65
    case noInput = 66
    case unavailable = 69
    case cannotCreate = 73
    case cannotWrite = 74
    case tryAgain = 75
    case notPermitted = 77

    /// The `code` of JSON errors without a protocol error code.
    var code: String {
        switch self {
        case .failed: "FAILED"
        case .usage: "USAGE"
        case .badData: "BAD_DATA"
        case .noInput: "NO_INPUT"
        case .unavailable: "ADDRESS_NOT_AVAILABLE"
        case .cannotCreate: "DATA_FOLDER_NOT_USABLE"
        case .cannotWrite: "FILE_NOT_WRITABLE"
        case .tryAgain: "DATA_FOLDER_IN_USE"
        case .notPermitted: "ACCESS_DENIED"
        }
    }
}
