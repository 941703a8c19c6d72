import Accounts
import InMemoryRecordStore
import RecordStore
import Records
import RequestLog
import StoreScenarios
import Testing

@testable import Console

/// 'Which clients have this record?' for the clients of guests, and why one never got it.
@Suite struct SharingDeliveryTests {
    private static let seen = ZoneID(
        zoneName: RequestStage.zone.zoneName, ownerRecordName: User.recordName(ofHandle: User.developerHandle))
    private static let grace = Caller(userRecordName: User.recordName(ofHandle: "grace"))
    private static let mary = Caller(userRecordName: "_mary")

    /// A list with an item, which Grace and Mary are invited to, and records outside of it.
    private func shared(_ stage: RequestStage) async throws {
        for (name, parent) in [
            ("list", nil), ("milk", "list"), ("diary", nil), ("page", "diary"), ("gone", nil), ("orphan", "gone"),
        ] as [(Name, Name?)] {
            try await save(
                stage,
                RecordOperation(
                    .create, recordName: name, recordType: "Note", parent: parent.map { .record($0) } ?? .unchanged))
        }
        // A record with a child goes only with one that it depends on.
        try await save(stage, RecordOperation(.create, recordName: "ground", recordType: "Note"))
        let ground = FieldInput(.reference(Reference(recordName: "ground", action: .deleteSelf)))
        try await save(
            stage, RecordOperation(.forceUpdate, recordName: "gone", recordType: "Note", fields: ["on": ground]))
        try await save(stage, RecordOperation(.forceDelete, recordName: "ground"))
        var share = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
        share.share = ShareInput(
            root: .init(recordName: "list", recordChangeTag: nil),
            participants: [Self.grace, Self.mary].map {
                ShareParticipant(
                    participantID: $0.userRecordName.string, lookupInfo: LookupInfo(userRecordName: $0.userRecordName),
                    permission: .readOnly)
            })
        try await save(stage, share)
    }

    private func save(_ stage: RequestStage, _ operation: RecordOperation) async throws {
        try await stage.database.apply([operation], in: RequestStage.zone)
    }

    private func database(_ stage: RequestStage, _ scope: DatabaseScope, as caller: Caller) async throws
        -> any RecordDatabase
    {
        try await stage.engine.database(address(stage, scope), as: caller)
    }

    private func address(_ stage: RequestStage, _ scope: DatabaseScope) -> DatabaseAddress {
        var address = stage.address
        address.scope = scope
        return address
    }

    private func accept(_ stage: RequestStage, as caller: Caller) async throws {
        let share = try await stage.database.fetch(
            [RecordID(recordName: "share", zoneID: RequestStage.zone)], desiredKeys: nil)[0].get()
        let link = try #require(share.sharing?.shortGUID)
        _ = try await database(stage, .public, as: caller).require(.shareRecords).accept(
            [link], by: LookupInfo(userRecordName: caller.userRecordName))[0].get()
    }

    /// Logs a request of a guest's client.
    @discardableResult
    private func ask(
        _ stage: RequestStage, _ operation: String, as caller: Caller, _ scope: DatabaseScope, _ zoneID: ZoneID?,
        failing: RecordError? = nil
    ) -> String {
        var request = stage.request(
            operation, from: "phone of \(caller.userRecordName)", as: caller, in: address(stage, scope))
        request.zoneIDs = [zoneID].compactMap(\.self)
        if let failing { request.itemErrors = [ServedRequest.ItemError(failing, name: "milk")] }
        return stage.note(request).id
    }

    private func rows(_ stage: RequestStage, _ record: String) async throws -> [String] {
        let page = try await stage.page("record?zone=Notes&name=\(record)")
        let panel = try #require(page.firstMatch(of: /<section class="tabbed deliveries"[\s\S]*?<\/section>/)).output
        return panel.split(separator: "<tr>").dropFirst(2).map(String.init)
    }

    /// The row of a user.
    private func row(_ stage: RequestStage, _ record: String, of user: String) async throws -> String {
        let found = try await rows(stage, record).filter { $0.contains("<td>\(user)</td>") }
        #expect(found.count == 1)
        return try #require(found.first, "\(user) is not on the page of \(record)")
    }

    @Test func recordsOutsideOfTheListAndTheirReasons() async throws {
        try await RequestStage.with { stage in
            try await shared(stage)
            for caller in [Self.grace, Self.mary] { try await accept(stage, as: caller) }
            ask(stage, "changes/database", as: Self.grace, .shared, nil)
            let table = [
                ("diary", "has no parent"), ("page", "no record above it is: page, diary."),
                ("orphan", "The chain of parents breaks: orphan, and then gone, which does not exist."),
            ]
            for (record, reason) in table {
                let row = try await row(stage, record, of: "Grace")
                #expect(row.contains(">no</span>") && row.contains(reason), "\(row)")
                // Mary, who has no client, could expect it too.
                #expect(try await self.row(stage, record, of: "_mary").contains(reason))
            }
            #expect(try await row(stage, "diary", of: "Grace").contains("/record/edit?zone=Notes&amp;name=diary"))
            #expect(try await row(stage, "orphan", of: "Grace").contains("/record?zone=Notes&amp;name=gone"))
        }
    }

    @Test func theInvitedAcceptPullAndLeave() async throws {
        try await RequestStage.with { stage in
            try await shared(stage)
            ask(stage, "changes/database", as: Self.grace, .shared, nil)
            #expect(try await row(stage, "milk", of: "Grace").contains("Grace was invited and has not accepted."))
            // Mary has no client.
            let mary = try await row(stage, "milk", of: "_mary")
            #expect(
                mary.contains(">none</span>") && mary.contains("_mary was invited and has not accepted.")
                    && mary.contains("/record?zone=Notes&amp;name=share"))
            try await accept(stage, as: Self.grace)
            try await accept(stage, as: Self.mary)
            #expect(try await row(stage, "milk", of: "Grace").contains("It never pulled"))
            #expect(try await row(stage, "milk", of: "_mary").contains("No client of the user has sent a request"))
            // A zone of her own, then the zone of nobody, then the right one.
            let own = ask(stage, "records/lookup", as: Self.grace, .private, RequestStage.zone)
            let inPrivate = try await row(stage, "milk", of: "Grace")
            #expect(inPrivate.contains("asks the private database") && inPrivate.contains("id=\(own)"))
            ask(stage, "records/lookup", as: Self.grace, .shared, RequestStage.zone)
            #expect(try await row(stage, "milk", of: "Grace").contains("for zone Notes without ownerRecordName"))
            let graces = try await database(stage, .shared, as: Self.grace)
            let page = try await graces.zoneChanges(ZoneChangesRequest(Self.seen))
            var pull = stage.request(
                "changes/zone", from: "phone of \(Self.grace.userRecordName)", as: Self.grace,
                in: address(stage, .shared))
            pull.zoneIDs = [Self.seen]
            pull.pulls = [
                ServedRequest.Pull(
                    zoneID: Self.seen, sent: nil, given: page.syncToken, moreComing: false, changes: page.changes.count)
            ]
            stage.note(pull)
            let delivered = try await row(stage, "milk", of: "Grace")
            #expect(
                delivered.contains(">yes</span>") && delivered.contains("id=\(pull.id)")
                    && !delivered.contains("READ_WRITE"))
            // She may only read.
            let refused = ask(
                stage, "records/modify", as: Self.grace, .shared, Self.seen,
                failing: RecordError(.accessDenied, "WRITE operation not permitted"))
            let reading = try await row(stage, "milk", of: "Grace")
            #expect(
                reading.contains(">yes</span>") && reading.contains("Grace may only read it")
                    && reading.contains("id=\(refused)"))
            // The next save is at another position in her feed than in that of the owner.
            try await save(
                stage,
                RecordOperation(
                    .forceUpdate, recordName: "milk", recordType: "Note", fields: ["title": FieldInput(.string("t"))]))
            #expect(try await row(stage, "milk", of: "Grace").contains("It has not pulled since the save"))
            _ = try await graces.modify(
                ModifyRequest([RecordOperation(.forceDelete, recordName: "share")], zoneID: Self.seen))[0].get()
            #expect(try await row(stage, "milk", of: "Grace").contains("Grace has left the share."))
        }
    }

    @Test func theRemovedAndThoseWhoWereNeverInvited() async throws {
        try await RequestStage.with { stage in
            try await shared(stage)
            try await accept(stage, as: Self.grace)
            let stranger = Caller(userRecordName: "_stranger")
            for caller in [Self.grace, stranger] { ask(stage, "changes/database", as: caller, .shared, nil) }
            let share = try await stage.database.fetch(
                [RecordID(recordName: "share", zoneID: RequestStage.zone)], desiredKeys: nil)[0].get()
            var closing = RecordOperation(
                .update, recordName: "share", recordType: Share.recordType, recordChangeTag: share.recordChangeTag)
            closing.share = ShareInput(participants: [])
            try await save(stage, closing)
            #expect(
                try await row(stage, "milk", of: "Grace").contains(
                    "Grace was a guest of the zone, until Developer ended it."))
            #expect(try await row(stage, "milk", of: "_stranger").contains("never invited, or removed by Developer."))
            let link = try #require(share.sharing?.shortGUID)
            var refused = stage.request(
                "records/accept", from: "phone of _stranger", as: stranger, in: address(stage, .public))
            refused.itemErrors = [ServedRequest.ItemError(RecordError(.accessDenied, "not invited"), name: Name(link))]
            stage.note(refused)
            let closed = try await row(stage, "milk", of: "_stranger")
            #expect(closed.contains("the link is closed to others") && closed.contains("id=\(refused.id)"))
        }
    }

    @Test func thePageOfAGuestSaysWhyTheRecordIsNotThere() async throws {
        try await RequestStage.with { stage in
            try await shared(stage)
            ask(stage, "changes/database", as: Self.grace, .shared, nil)
            let zone = "\(Self.seen.ownerRecordName ?? "")/Notes"
            let answer = try await stage.page(
                "record?user=grace&zone=\(zone)&name=milk", in: "/c/iCloud.com.example.App/development/shared")
            #expect(answer.contains("Developer has the record, and Grace does not see it."))
            #expect(answer.contains("Grace was invited and has not accepted."))
        }
    }
}
