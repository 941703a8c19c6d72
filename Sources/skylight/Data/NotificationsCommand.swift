import ArgumentParser
import RecordStore
import Records
import RemoteRecordStore
import Synchronization
import UnixSignals

struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Print the notifications of a user's subscriptions as they fire.",
        discussion: """
            Prints one line for each notification until Ctrl-C: subscription, database, zone and, for a subscription to records, event and \
            record name. With --json each line is the notification as devices get it, which can be saved for xcrun simctl push. The last line says \
            where to continue.

            Needs a running server.

            Example:
              skylight notifications --follow --container iCloud.com.example.Chat
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @Flag(help: "Wait for notifications until Ctrl-C.")
    var follow = false

    @Option(
        help: ArgumentHelp(
            "Continue after this one, from the last line of an earlier run. (default: new ones only)",
            valueName: "number"))
    var since: Int64?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if !follow { throw ValidationError("Notifications are told as they fire: add --follow.") }
        if since.map({ $0 < 0 }) == true {
            throw ValidationError("--since is negative; use the number of an earlier run's last line.")
        }
    }

    func run() async throws {
        guard let engine = try await store.runningServer() else {
            throw CommandFailure(
                .failed, "There is no running server to follow: notifications are sent by one", code: "NO_SERVER",
                remedy: "Start skylight serve on the folder, or give a server with --url")
        }
        try await engine.closing { try await follow($0) }
    }

    /// The last printed notification, shared with the signal handler.
    private final class Last: Sendable {
        let eventID: Mutex<String?>

        init(_ eventID: String?) { self.eventID = Mutex(eventID) }
    }

    private func follow(_ engine: RemoteRecordEngine) async throws {
        let target = try await engine.existingDatabase(database.address(scope), as: database.user)
        let (address, caller, start, asJSON) = (
            target.address, target.caller, since.map { String($0) }, store.output.isJSON
        )
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let last = Last(start)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals { return } }
            group.addTask {
                try await engine.followNotifications(of: address, as: caller, after: start) { sent in
                    try OutputFile.standardOutput.write(asJSON ? sent.bytes + [UInt8(ascii: "\n")] : Self.line(sent))
                    last.eventID.withLock { $0 = sent.eventID }
                }
            }
            defer { group.cancelAll() }
            do {
                _ = try await group.next()
            } catch {
                // The printed notifications stay valid, so the number shows where to continue.
                if !asJSON, let number = last.eventID.withLock({ $0 }) { Output.say("Continue with --since \(number)") }
                throw error
            }
        }
        if !asJSON, let number = last.eventID.withLock({ $0 }) { Output.say("Continue with --since \(number)") }
    }

    private static func line(_ sent: SentNotification) throws -> [UInt8] {
        let object = try RequestObject(sent.bytes).object("ck")
        for kind in ["qry", "fet", "met"] as [Name] {
            guard let content = try object?.object(kind) else { continue }
            let scope = try content.number("dbs").flatMap { [0: "public", 1: "private", 2: "shared"][$0] } ?? "-"
            let event = try content.number("fo").flatMap { [1: "create", 2: "update", 3: "delete"][$0] }
            let record = try content.string("rid").map { "  \(event ?? "-") \($0)" } ?? ""
            return Array(
                "\(try content.string("sid") ?? "-")  \(scope)  \(try content.string("zid") ?? "-")\(record)\n".utf8)
        }
        return sent.bytes + [UInt8(ascii: "\n")]
    }
}
