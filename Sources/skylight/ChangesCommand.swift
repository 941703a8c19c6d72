import ArgumentParser
import JSON
import Records
import RecordStore

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print what changed in a zone, or which zones of a database changed.",
        discussion: """
            One line for each change, in the order of commits: what happened, its position, the record's type and its name. Each record appears \
            once, at its latest change. The last line is the token to go on from. With --json each line is an object: changes with the whole \
            record, and tokens as {"syncToken":…}.

            --follow goes on with what is saved from then on, until Ctrl-C. A data folder has only one writer, so there must be a running server \
            to follow.

            Examples:
              skylight changes --container iCloud.com.example.Chat --zone Chats
              token=$(skylight changes --token-only --zone Chats \\
                --container iCloud.com.example.Chat)
              skylight changes --container iCloud.com.example.Chat --zone Chats \\
                --since "$token" --follow
                Prints only what is new.
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database: private or shared. The public one has no changes to pull.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("The zone. (default: none; which zones of the database changed)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The user whose zone it is, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    @Option(help: ArgumentHelp("Only what changed after this token. (default: everything that is there)", valueName: "token"))
    var since: String?

    @Flag(help: "Go on with new changes as they are committed, until Ctrl-C.")
    var follow = false

    @Flag(help: "Print just the token for now, without reading what lies before it.")
    var tokenOnly = false

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if scope == .public { throw ValidationError("The public database has no changes to pull, in CloudKit too.") }
        if tokenOnly, since != nil || follow { throw ValidationError("--token-only prints the token for now: leave --since and --follow out.") }
        if zone == ZoneID.defaultZoneName.string { throw ValidationError("The default zone has no changes to pull, in CloudKit too.") }
        if scope == .shared, zone != nil, zoneOwner == nil { throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.") }
        if scope != .shared, zoneOwner != nil { throw ValidationError("--zone-owner is for zones of others: add --database shared.") }
        if since?.isEmpty == true { throw ValidationError("--since is empty; leave it out to begin at the start.") }
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
            if tokenOnly { return try printer.sayOnly(try await feed.currentToken()) }
            let token = since.map { ChangeToken(text: $0) }
            if follow {
                guard store.hasServer else {
                    throw CommandFailure(
                        .failed, "There is no running server to follow: while this command has the data folder open, nothing else can change it",
                        code: "NO_SERVER", remedy: "Start skylight serve on the folder, or name a server with --url")
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
