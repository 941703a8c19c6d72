import ArgumentParser
import JSON
import Records
import RecordStore
import Text
import Workbench

struct TokenExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Explain a change token: its zone or database, position and time, and whether it still works.",
        discussion: """
            Give the database in which the token would be used.

            Example:
              skylight token explain EQEAAAAB… --container iCloud.com.example.Chat
            """)

    @Argument(help: "The token, from a response or skylight zone list, in any form that the page Tokens reads.")
    var token: String

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database in which the token would be used.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            let pasted = PastedValue(token)
            let explanation = try await explain(pasted, target)
            if self.store.json {
                var writer = JSONWriter()
                writer.value(explanation)
                Output.say(String(decoding: writer.bytes, as: UTF8.self))
            } else {
                let handles = try await store.handles()
                let user = explanation.userRecordName.map { handles[$0] ?? $0.string }
                for line in lines(explanation, user) { Output.say(line) }
            }
        }
    }

    /// - Throws: `CommandFailure` that says what the text is, if it is no token of the store; it repeats no part of the text.
    private func explain(_ pasted: PastedValue, _ database: any RecordDatabase) async throws -> TokenExplanation {
        let tokens = pasted.tokens.compactMap(\.token)
        if tokens.count > 1 { throw CommandFailure(.usage, "The text has \(tokens.count) tokens", remedy: "Give one of them") }
        guard let token = tokens.first else { throw refusal(pasted) }
        do {
            return try await database.explain(token)
        } catch let error as RecordError where error.known == .unknownToken {
            let kind = pasted.kind ?? PastedKind(bytes: token.bytes)
            if kind != .changeToken { throw Self.failure(kind) }
            throw CommandFailure(
                .failed, "This container and environment did not issue this token", code: error.code.rawValue,
                remedy: "Try the others. If none issued it, pull without a token")
        }
    }

    private static func failure(_ kind: PastedKind) -> CommandFailure {
        // The command ends the remedy with a full stop.
        let remedy = kind.advice.joined(separator: " ")
        return CommandFailure(.failed, kind.title, code: ServerErrorCode.badRequest.rawValue, remedy: String(remedy.dropLast()))
    }

    private func refusal(_ pasted: PastedValue) -> CommandFailure {
        let code = ServerErrorCode.badRequest.rawValue
        if let kind = pasted.kind { return Self.failure(kind) }
        if case .unreadable(let error) = pasted.reading { return CommandFailure(.failed, "The text can't be read: \(error)", code: code) }
        return CommandFailure(.failed, "The text has no change token", code: code, remedy: "Give the token alone, or a response with a syncToken")
    }

    private func lines(_ explanation: TokenExplanation, _ user: String?) -> [String] {
        let database = "the \(explanation.scope.rawValue) database" + (user.map { " of \($0)" } ?? "")
        var lines: [String] = []
        switch explanation.subject {
        case .database: lines.append("A token of \(database): it tells which zones changed.")
        case .zone(let zoneID?): lines.append("A token of zone \(zoneID.zoneName) in \(database).")
        case .zone(nil): lines.append("A token of a zone in \(database) that no longer exists.")
        }
        let moment = explanation.moment.map { moment in
            ", committed \(UTCTime(milliseconds: moment.milliseconds).isoTextWithMilliseconds)"
        }
        lines.append(explanation.position == 0 ? "Position: before the first change" : "Position: \(explanation.position)\(moment ?? "")")
        switch explanation.progress {
        case .complete: lines.append("Progress: complete, the client has everything up to the position")
        case .firstPull: lines.append("Progress: unfinished, the first pull had more pages")
        case .pull(let since): lines.append("Progress: unfinished, the pull from position \(since) had more pages")
        case .reversePull: lines.append("Progress: unfinished, the newest-first pull had more pages")
        }
        switch explanation.standing {
        case .good: lines.append("Status: valid")
        case .expired(let why): lines.append("Status: expired, \(why). A client must pull without a token")
        case .foreign(let why): lines.append("Status: not for this database, \(why)")
        }
        if let count = explanation.changesAfter { lines.append("Changes after it: \(Output.grouped(count))") }
        return lines
    }
}
