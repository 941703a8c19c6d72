import ArgumentParser
import JSON
import Records
import RecordStore

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print the changes of a zone, or the changed zones of a database.",
        discussion: """
            Prints one line for each change, in commit order: kind, position, record type and record name. Each record appears \
            once, at its latest change. The last line is the new token. With --json each line is an object: changes with the whole \
            record, and tokens as {"syncToken":…}.

            --follow continues with new changes until Ctrl-C. A data folder has only one writer, so this needs a running \
            server.

            Examples:
              skylight changes --container iCloud.com.example.Chat --zone Chats
              token=$(skylight changes --token-only --zone Chats \\
                --container iCloud.com.example.Chat)
              skylight changes --container iCloud.com.example.Chat --zone Chats \\
                --since "$token" --follow
                Prints only new changes.
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database: private or shared. The public one has no changes to pull.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("The zone. (default: none; print the changed zones)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The owner of the zone, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    @Option(help: ArgumentHelp("Only changes after this token. (default: all records)", valueName: "token"))
    var since: String?

    @Flag(help: "Continue with new changes as they are committed, until Ctrl-C.")
    var follow = false

    @Flag(help: "Print only the current token.")
    var tokenOnly = false

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if scope == .public { throw ValidationError("The public database has no changes to pull, in CloudKit too.") }
        if tokenOnly, since != nil || follow { throw ValidationError("--token-only prints the current token: remove --since and --follow.") }
        if zone == ZoneID.defaultZoneName.string { throw ValidationError("The default zone has no changes to pull, in CloudKit too.") }
        if scope == .shared, zone != nil, zoneOwner == nil { throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.") }
        if scope != .shared, zoneOwner != nil { throw ValidationError("--zone-owner is for zones of other users: add --database shared.") }
        if since?.isEmpty == true { throw ValidationError("--since is empty; remove it to start from the beginning.") }
    }

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            var zoneID: ZoneID?
            if let zone {
                let owner = if let zoneOwner { try await store.caller(named: zoneOwner).userRecordName } else { nil as Name? }
                zoneID = ZoneID(zoneName: Name(zone), ownerRecordName: owner)
            }
            let feed = ChangeFeed(database: target, zoneID: zoneID)
            let printer = ChangePrinter(asJSON: self.store.json)
            if tokenOnly { return try printer.sayOnly(try await target.currentToken(of: zoneID)) }
            let token = since.map { ChangeToken(text: $0) }
            if follow {
                guard store.hasServer else {
                    throw CommandFailure(
                        .failed, "There is no running server to follow: while this command has the data folder open, nothing can change it",
                        code: "NO_SERVER", remedy: "Start skylight serve on the folder, or give a server with --url")
                }
                try await Follower(feed: feed, printer: printer, isServerThere: store.isServerThere).run(since: token)
            } else {
                var last = token
                try await feed.pull(since: token, to: printer) { last = $0 }
                try last.map { try printer.say($0) }
            }
        }
    }
}
