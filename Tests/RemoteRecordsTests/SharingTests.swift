import CloudKitClient
import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// Shares of records and zones, links, participants and users.
@Suite struct SharingTests {
    private static let root = RecordID(recordName: "list", zoneID: zone)
    private static let child = RecordID(recordName: "milk", zoneID: zone)

    /// A server with a list and a thing below it, and a container for each of two users.
    private static func live(_ body: @Sendable (LiveServer, _ anna: Container, _ ben: Container) async throws -> Void)
        async throws
    {
        try await LiveServer.run { server in
            try await server.device { first in
                try await server.device(of: 1) { second in
                    let (anna, ben) = (Container(first), Container(second))
                    try await anna.privateCloudDatabase.save(zone)
                    var child = Record(recordType: "Thing", recordID: child)
                    child["text"] = "Milk"
                    child.parent = root.recordName
                    let results = try await anna.privateCloudDatabase.modifyRecords(saving: [
                        Record(recordType: "List", recordID: root), child,
                    ])
                    for result in results.saveResults.values { _ = try result.get() }
                    try await body(server, anna, ben)
                }
            }
        }
    }

    private static func shared(in server: LiveServer) -> ZoneID {
        ZoneID(zoneName: zone.zoneName, ownerRecordName: server.users[0])
    }

    /// The list shared with Ben, by his address.
    private static func share(_ anna: Container, _ permission: SharePermission = .readWrite) async throws -> Record {
        var share = Record(sharing: try await anna.privateCloudDatabase.record(for: root))
        share.shareTitle = "Food"
        var ben = try await anna.shareParticipant(for: LookupInfo(emailAddress: "ben@example.com"))
        ben.permission = permission
        share.sharing?.addParticipant(ben)
        return try await anna.privateCloudDatabase.save(share)
    }

    @Test func aSharedListIsReadAndChangedByAGuest() async throws {
        try await Self.live { server, anna, ben in
            let share = try await Self.share(anna)
            #expect(
                share.sharing?.rootName == "list" && share.sharing?.owner?.userRecordName == server.users[0]
                    && !share.hasChanges)
            let link = ShareLink(shortGUID: try #require(share.shortGUID))
            let list = try await anna.privateCloudDatabase.record(for: Self.root)
            #expect(list.share?.recordID == share.recordID && list.shortGUID == link.shortGUID)

            let metadata = try await ben.shareMetadata(for: link, fetchesRootRecord: true)
            let zoneID = Self.shared(in: server)
            #expect(
                metadata.databaseScope == .shared && metadata.share.recordID.zoneID == zoneID
                    && metadata.share.shareTitle == "Food")
            #expect(
                metadata.rootRecordID == RecordID(recordName: "list", zoneID: zoneID)
                    && metadata.rootRecord?.recordType == "List")
            #expect(
                metadata.participantStatus == .invited && metadata.participantPermission == .readWrite
                    && metadata.participantRole == .user)
            let accepted = try await ben.accept(link)
            #expect(accepted.participantStatus == .accepted)
            // A second time changes nothing.
            try await ben.accept(link)

            let database = ben.sharedCloudDatabase
            let zones = try await database.allRecordZones()
            #expect(zones.map(\.zoneID) == [zoneID])
            var milk = try await database.record(for: RecordID(recordName: "milk", zoneID: zoneID))
            milk["text"] = "Milk and bread"
            try await database.save(milk)
            let seen = try await anna.privateCloudDatabase.record(for: Self.child)
            #expect(seen["text"] == "Milk and bread" as String? && seen.modified?.userRecordName == server.users[1])
            // A record that is not below the list is refused.
            let error = await operationError { try await database.save(Record(recordType: "Thing", in: zoneID)) }
            #expect(error?.code == .permissionFailure)
        }
    }

    /// A list and its share are saved together, and the other way round in the operation.
    @Test func aRootIsSavedBeforeItsShare() async throws {
        try await Self.live { _, anna, _ in
            let list = Record(recordType: "List", in: zone)
            let share = Record(sharing: list)
            let results = try await anna.privateCloudDatabase.modifyRecords(saving: [share, list]).saveResults
            let saved = try #require(results[share.recordID]).get()
            #expect(try results[list.recordID]?.get() != nil && saved.sharing?.participants.map(\.role) == [.owner])
            let again = try await anna.privateCloudDatabase.record(for: list.recordID)
            #expect(again.share?.recordID == share.recordID)
        }
    }

    @Test func participantsAreChangedAndRemoved() async throws {
        try await Self.live { server, anna, ben in
            var share = try await Self.share(anna)
            let link = ShareLink(shortGUID: try #require(share.shortGUID))
            try await ben.accept(link)
            share = try await anna.privateCloudDatabase.record(for: share.recordID)
            let participant = try #require(share.sharing?.participants.last)
            #expect(participant.status == .accepted && participant.userRecordName == server.users[1])
            var again = participant
            again.permission = .readOnly
            share.sharing?.addParticipant(again)
            #expect(
                share.sharing?.participants.count == 2 && share.hasChanges
                    && share.withoutChanges.sharing?.participants.last?.permission == .readWrite)
            share = try await anna.privateCloudDatabase.save(share)
            let milk = RecordID(recordName: "milk", zoneID: Self.shared(in: server))
            var record = try await ben.sharedCloudDatabase.record(for: milk)
            record["text"] = "no"
            let edited = record
            #expect(await operationError { try await ben.sharedCloudDatabase.save(edited) }?.code == .permissionFailure)
            share.sharing?.removeParticipant(participant)
            try await anna.privateCloudDatabase.save(share)
            let gone = await operationError { _ = try await ben.sharedCloudDatabase.record(for: milk) }
            #expect(gone?.code == .zoneNotFound || gone?.code == .unknownItem)
            #expect(await operationError { _ = try await ben.shareMetadata(for: link) }?.code == .permissionFailure)
        }
    }

    @Test func aWholeZoneIsSharedByItsLink() async throws {
        try await Self.live { server, anna, ben in
            var share = Record(sharing: zone)
            share.sharing?.publicPermission = .readOnly
            share = try await anna.privateCloudDatabase.save(share)
            #expect(share.recordID.recordName == Share.zoneWideName)
            let link = ShareLink(shortGUID: try #require(share.shortGUID))
            let metadata = try await ben.accept(link)
            #expect(metadata.rootRecordID == nil && metadata.participantRole == .publicUser)
            let changes = try await ben.sharedCloudDatabase.recordZoneChanges(inZoneWith: Self.shared(in: server))
            #expect(
                Set(changes.modifications.compactMap(\.recordID?.recordName)) == ["list", "milk", Share.zoneWideName])
            // Leaving takes only the guest's part.
            try await ben.sharedCloudDatabase.deleteRecord(withID: metadata.share.recordID)
            let left = try await ben.sharedCloudDatabase.allRecordZones()
            #expect(left.isEmpty)
            _ = try await anna.privateCloudDatabase.record(for: Self.child)
        }
    }

    @Test func linksThatLeadNowhereAreErrors() async throws {
        try await Self.live { _, anna, ben in
            let link = ShareLink(shortGUID: try #require(try await Self.share(anna).shortGUID))
            #expect(await operationError { try await anna.accept(link) }?.code == .invalidArguments)
            #expect(await operationError { try await ben.accept("none") }?.code == .unknownItem)
            let callbacks = CallbackLog()
            let error = await operationError {
                try await ben.publicCloudDatabase.perform(FetchShareMetadata([link, "none"])) { event in
                    if case .fetched(let link, let result) = event {
                        callbacks.note("\(link.shortGUID) \((try? result.get()) != nil)")
                    }
                }
            }
            #expect(callbacks.all == ["\(link.shortGUID) true", "none false"])
            #expect(error?.code == .partialFailure && error?.partialErrors[.link("none")]?.code == .unknownItem)
        }
    }

    @Test func usersAreFoundByAddressAndName() async throws {
        try await Self.live { server, anna, _ in
            let ben = try await anna.userIdentity(for: LookupInfo(emailAddress: "ben@example.com"))
            #expect(ben.userRecordName == server.users[1])
            var everybody: Set<Name?> = []
            for try await event in anna.publicCloudDatabase.events(of: DiscoverUserIdentities()) {
                if case .discovered(nil, .success(let user)) = event { everybody.insert(user.userRecordName) }
            }
            #expect(everybody.contains(server.users[1]))
            let byName = try await anna.shareParticipant(for: LookupInfo(userRecordName: server.users[1]))
            #expect(
                byName.userRecordName == server.users[1] && byName.permission == .readOnly && byName.status == .invited)
            // An address can be invited before its user exists, a name can't.
            let stranger = try await anna.shareParticipant(for: LookupInfo(emailAddress: "nobody@example.com"))
            #expect(stranger.userRecordName == nil && stranger.lookupInfo.emailAddress == "nobody@example.com")
            let none = LookupInfo(userRecordName: "_00000000000000000000000000000000")
            #expect(await operationError { _ = try await anna.shareParticipant(for: none) }?.code == .unknownItem)
            #expect(await operationError { _ = try await anna.userIdentity(for: none) }?.code == .unknownItem)
            #expect(
                await operationError { _ = try await anna.userIdentity(for: LookupInfo()) }?.code == .invalidArguments)
        }
    }

    /// A share is kept with its participants, so that an operation that outlives the process saves the same.
    @Test func keptSharesAreTheSame() throws {
        var share = Record(sharing: Record(recordType: "List", recordID: Self.root))
        share.sharing?.addParticipant(
            ShareParticipant(
                participantID: "p", lookupInfo: LookupInfo(emailAddress: "ben@example.com"), permission: .readWrite))
        share.shareTitle = "Food"
        let again = try Record(encoded: share.encoded)
        #expect(
            again.sharing == share.sharing && again.shareTitle == "Food" && again.recordChangeTag == nil
                && again.hasChanges)
        let system = try Record(encodedSystemFields: share.encodedSystemFields)
        #expect(system.sharing == share.sharing && system.shareTitle == nil)
        #expect(ShareLink(try #require(URL(string: "https://example.com/share/0AbC#Food")))?.shortGUID == "0AbC")
    }
}
