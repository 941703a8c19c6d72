import ArgumentParser
import RecordStore
import Records

struct ZoneListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the zones of a database, with counts of records and deletions, and participants.",
        discussion: """
            Example:
              skylight zone list --container iCloud.com.example.Shopping --user ada
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    private struct Row {
        let zone: Zone
        let owner: String?
        let counts: ZoneCounts?
        let participants: [(handle: String, permission: ZoneParticipant.Permission)]

        func write(into writer: inout JSONWriter) {
            writer.member("zoneID") { $0.value(zone.zoneID) }
            if let owner { writer.member("owner", owner) }
            if let token = zone.syncToken { writer.member("syncToken", token.text) }
            writer.member("atomic", zone.atomic)
            if let counts {
                writer.member("records", counts: counts.records)
                writer.member("deletions", Int64(counts.deletions))
            }
            writer.member("participants", objects: participants) { writer, participant in
                writer.member("user", participant.handle)
                writer.member("permission", participant.permission.rawValue)
            }
        }
    }

    func run() async throws {
        let rows = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            let handles = try await store.handles()
            func handle(_ name: Name) -> String { handles[name] ?? name.string }
            var rows: [Row] = []
            for zone in try await target.zones() {
                var participants: [ZoneParticipant] = []
                if scope == .private, !zone.zoneID.isDefault, target.can(.shareRecords) {
                    participants = try await target.participants(of: zone.zoneID)
                }
                rows.append(
                    Row(
                        zone: zone, owner: zone.zoneID.ownerRecordName.map(handle),
                        counts: target.can(.countRecords)
                            ? try await target.require(.countRecords).counts(in: zone.zoneID) : nil,
                        participants: participants.map { (handle($0.userRecordName), $0.permission) }))
            }
            return rows
        }
        store.output.say(
            list: "zones", rows, none: "The \(scope.rawValue) database of \(database.user) has no zones.",
            [
                .init("ZONE", \.zone.zoneID.zoneName.string), .init("OWNER") { $0.owner ?? "–" },
                .init("RECORDS") { $0.counts.map { Output.grouped($0.total) } ?? "–" },
                .init("DELETIONS") { $0.counts.map { Output.grouped($0.deletions) } ?? "–" },
                .init("SHARED WITH") { row in
                    let shown = row.participants.map {
                        "\($0.handle) (\($0.permission == .readOnly ? "read-only" : "read-write"))"
                    }
                    return shown.isEmpty ? "–" : shown.joined(separator: ", ")
                },
            ]
        ) { writer, row in writer.object(row.write) }
    }
}

// MARK: - Sharing

struct ZoneShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Share a whole zone with another user.",
        discussion: """
            The zone appears in the other user's shared database, under its owner. Sharing again changes the permission.

            Example:
              skylight zone share Household --with ada --container iCloud.com.example.Shopping
            """)

    @Argument(help: "The zone's name.")
    var zone: String

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp("The other user. An unknown user is created.", valueName: "handle"))
    var participant: String

    @Option(help: "The permission of the other user.")
    var permission: ZoneParticipant.Permission = .readWrite

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            let other = try await store.caller(named: participant).userRecordName
            if other == target.caller.userRecordName {
                throw CommandFailure(.usage, "The zone is \(participant)'s own: share it with another user")
            }
            let guest = ZoneParticipant(userRecordName: other, permission: permission)
            try await target.share(ZoneID(zoneName: Name(zone)), with: guest, on: store.engine)
        }
        store.output.say(
            "\(participant) now sees zone \(zone) of \(database.user) (\(permission.defaultValueDescription))."
        ) { writer in
            writer.member("zoneName", zone)
            writer.member("user", participant)
            writer.member("permission", permission.rawValue)
        }
    }
}

struct ZoneUnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unshare", abstract: "Stop sharing a zone with another user.",
        discussion: """
            The other user's shared database then reports the zone as deleted.

            Example:
              skylight zone unshare Household --with ada --container iCloud.com.example.Shopping
            """)

    @Argument(help: "The zone's name.")
    var zone: String

    @Option(name: .customLong("with"), help: ArgumentHelp("The other user.", valueName: "handle"))
    var participant: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            let other = try await store.caller(named: participant).userRecordName
            try await target.stopSharing(ZoneID(zoneName: Name(zone)), with: other)
        }
        store.output.say("\(participant) no longer sees zone \(zone) of \(database.user).") { writer in
            writer.member("zoneName", zone)
            writer.member("user", participant)
        }
    }
}

// MARK: - Removal

struct ZonePurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Purge a zone, like a user who deletes an app's data in the system settings.",
        discussion: """
            Other clients see a purge, and must not upload the data again. Tokens of the zone expire.

            Example:
              skylight zone purge Chats --container iCloud.com.example.Chat --yes
            """)

    @OptionGroup var options: ZoneRemovalOptions

    func run() async throws {
        try await options.run(participle: "purged") { database in
            try await database.require(.purgeZones).purge(options.zoneID)
        }
    }
}

struct ZoneDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a zone and its records, like a client does.",
        discussion: """
            Other clients see a deletion.

            Example:
              skylight zone delete Drafts --container iCloud.com.example.Chat --yes
            """)

    @OptionGroup var options: ZoneRemovalOptions

    func run() async throws {
        try await options.run(participle: "deleted") { database in
            for outcome in try await database.modifyZones([.delete(options.zoneID)]) { _ = try outcome.get() }
        }
    }
}

/// The options and the common work of the commands that remove a zone.
struct ZoneRemovalOptions: ParsableArguments {
    @Argument(help: "The zone's name.")
    var zone: String

    @Flag(help: "Confirm it. Without this flag the command only says what would be deleted.")
    var yes = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    var zoneID: ZoneID { ZoneID(zoneName: Name(zone)) }

    /// Prints the content of the zone and, with `--yes`, removes it.
    func run(participle: String, removal: (any RecordDatabase) async throws -> Void) async throws {
        let count = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            for zone in try await target.fetchZones([zoneID]) { _ = try zone.get() }
            let count =
                target.can(.countRecords) ? try await target.require(.countRecords).counts(in: zoneID).total : nil
            guard yes else {
                let records = count.map { "has \(Output.grouped($0)) records, which" } ?? "and its records"
                throw CommandFailure.confirmationNeeded(
                    "Zone \(zone) of \(database.user) \(records) would be permanently deleted")
            }
            try await removal(target)
            return count
        }
        let records = count.map { ", with \(Output.grouped($0)) records" } ?? ""
        store.output.say("Zone \(zone) of \(database.user) was \(participle)\(records).") { writer in
            writer.member("zoneName", zone)
            if let count { writer.member("records", Int64(count)) }
        }
    }
}
