import ExampleSupport
import Foundation
import RemoteRecords

/// A shopping list that a family shares. Changes are in a journal until they are sent.
@main struct ShoppingList {
    static let zoneName: Name = "Shopping"
    static let mine = ZoneID(zoneName: zoneName)
    static let usage = """
        shopping-list FOLDER add THING | list | journal | share ADDRESS | join LINK
        With an 's' before it, as in 'sadd Milk', a command is about the list of somebody who shares it.
        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { Connection.explain(usage) }
        let folder = URL(filePath: arguments[0], directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let client = try Connection.client()
        let container = Container(client)
        let own = try await RecordCache(folder.appending(path: "own.sqlite"), of: container.privateCloudDatabase)
        let shared = try await RecordCache(folder.appending(path: "shared.sqlite"), of: container.sharedCloudDatabase)
        switch (arguments[1], arguments.dropFirst(2).first) {
        case ("add", let thing?):
            try await makeList(in: own)
            try await add(thing, to: own, in: mine)
        case ("sadd", let thing?): try await add(thing, to: shared, in: theirs(container))
        case ("list", nil): try await show(own, in: mine)
        case ("slist", nil): try await show(shared, in: theirs(container))
        case ("journal", nil):
            for change in own.engine.state.pendingRecordZoneChanges + shared.engine.state.pendingRecordZoneChanges {
                print(change == .saveRecord(change.recordID) ? "save" : "delete", change.recordID.recordName)
            }
        case ("share", let address?):
            try await makeList(in: own)
            try await own.sync()
            print(try await share(with: address, in: container))
        case ("join", let link?):
            let metadata = try await container.accept(ShareLink(shortGUID: link))
            print("You share \(metadata.share.shareTitle ?? "a list") now.")
        default: Connection.explain(usage)
        }
        await client.close()
    }

    static func makeList(in cache: RecordCache) async throws {
        let list = RecordID(recordName: "list", zoneID: mine)
        if try await cache.record(for: list) != nil { return }
        try await cache.change(.saveZone(mine))
        try await cache.save(Record(recordType: "List", recordID: list))
    }

    static func add(_ thing: String, to cache: RecordCache, in zoneID: ZoneID) async throws {
        var record = Record(recordType: "Thing", in: zoneID)
        record["title"] = thing
        // With its list above it, a thing is shared as the list is.
        record.parent = "list"
        try await cache.save(record)
        do { try await cache.sync() } catch { FileHandle.standardError.write(Data("In the journal: \(error)\n".utf8)) }
    }

    static func show(_ cache: RecordCache, in zoneID: ZoneID) async throws {
        do { try await cache.sync() } catch { FileHandle.standardError.write(Data("Not synced: \(error)\n".utf8)) }
        let titles = try await cache.records(ofType: "Thing", in: zoneID).compactMap { $0["title"] as String? }
        print(titles.sorted().joined(separator: "\n"))
    }

    /// Invites somebody to the list.
    /// - Returns: the identifier in the link.
    static func share(with address: String, in container: Container) async throws -> String {
        let database = container.privateCloudDatabase
        let list = try await database.record(for: RecordID(recordName: "list", zoneID: mine))
        var share = Record(sharing: list)
        share.shareTitle = "Shopping"
        if let shareID = list.share?.recordID { share = try await database.record(for: shareID) }
        var participant = try await container.shareParticipant(forEmailAddress: address)
        participant.permission = .readWrite
        share.addParticipant(participant)
        return try await database.save(share).shortGUID ?? ""
    }

    /// The zone of the list that somebody shares with the user.
    static func theirs(_ container: Container) async throws -> ZoneID {
        let zones = try await container.sharedCloudDatabase.allRecordZones().map(\.zoneID)
        if let zoneID = zones.first(where: { $0.zoneName == zoneName }) { return zoneID }
        throw OperationError(.zoneNotFound, "Nobody shares a list with you")
    }
}
