import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import RequestLog
import StoreScenarios
import Testing

@testable import Console
@testable import TrafficPages

/// The pages Sharing and Who sees what.
@Suite struct SharingPageTests {
    private static let grace = Caller(userRecordName: User.recordName(ofHandle: "grace"))
    private static let unknown = ShareParticipant(
        participantID: "unknown", lookupInfo: LookupInfo(emailAddress: "nobody@example.org"))
    private static let seen = ZoneID(
        zoneName: RequestStage.zone.zoneName, ownerRecordName: User.recordName(ofHandle: User.developerHandle))

    /// The developer shares a list with Grace, who accepts, beside a diary.
    private static func with(_ body: @Sendable (RequestStage, _ share: StoredRecord) async throws -> Void) async throws
    {
        try await RequestStage.with { stage in
            for (name, parent) in [("list", nil), ("milk", "list"), ("brand", "milk"), ("diary", nil)]
                as [(Name, Name?)]
            {
                try await stage.database.save(
                    name, in: RequestStage.zone, ["title": .string("a \(name)")],
                    parent: parent.map { .record($0) } ?? .unchanged)
            }
            let invited = ShareParticipant(
                participantID: "grace", lookupInfo: LookupInfo(userRecordName: grace.userRecordName),
                permission: .readWrite)
            let share = try await Self.share("list", as: "share", titled: "Groceries", with: [invited, unknown], stage)
            var there = stage.address
            there.scope = .public
            let results = try await stage.engine.database(there, as: grace).require(.shareRecords).accept(
                [share.sharing?.shortGUID ?? ""], by: LookupInfo(userRecordName: grace.userRecordName))
            for result in results { _ = try result.get() }
            try await body(stage, share)
        }
    }

    private static func share(
        _ root: Name, as name: Name, titled title: String, with participants: [ShareParticipant],
        provenance: Provenance? = nil, _ stage: RequestStage
    ) async throws -> StoredRecord {
        var operation = RecordOperation(
            .create, recordName: name, recordType: Share.recordType,
            fields: ["cloudkit.title": FieldInput(.string(title))])
        operation.provenance = provenance
        operation.share = ShareInput(root: .init(recordName: root, recordChangeTag: nil), participants: participants)
        guard
            case .saved(let share)? = try await stage.database.modify(
                ModifyRequest([operation], zoneID: RequestStage.zone)
            ).first?.get()
        else {
            throw RecordError(.internalError, "not a save")
        }
        return share
    }

    /// A row of the participants' table.
    private static func row(of name: String, on page: String) throws -> String {
        let rows = page.matches(of: /<tr><th scope="row">[\s\S]*?<\/tr>/).map { String($0.output) }.filter {
            $0.contains(name)
        }
        #expect(rows.count == 1)
        return try #require(rows.first)
    }

    /// The names of the records in a part of the tree.
    private static func names(in id: String, on page: String) throws -> [String] {
        let part = try #require(page.split(separator: "<section ").first { $0.contains("id=\"\(id)\"") })
        return part.matches(of: /<li><a href="record\?zone=Notes&amp;name=([^"]+)">/).map { String($0.output.1) }
    }

    @Test func aShareIsShownWithItsParticipantsAndWhatTheyHaveRead() async throws {
        try await Self.with { stage, share in
            let page = try await stage.page("sharing?zone=Notes")
            #expect(
                page.contains(">Groceries</a>") && page.contains("href=\"/share/\(share.sharing?.shortGUID ?? "?")\"")
                    && page.contains("only invited users can use the link"))
            let graces = try Self.row(of: "name=grace", on: page)
            #expect(
                graces.contains(">may read and write</td>") && graces.contains(">accepted<")
                    && graces.contains("<time"))
            #expect(graces.contains("no request since the server started"))
            #expect(try Self.row(of: "nobody@example.org", on: page).contains("pending: no user has this address"))
            #expect(page.contains("The invitation of &#39;nobody@example.org&#39; leads to nobody"))
            // Grace's phone pulls, and then falls behind.
            var there = stage.address
            there.scope = .shared
            let shared = try await stage.engine.database(there, as: Self.grace)
            let pulled = try await shared.zoneChanges(ZoneChangesRequest(Self.seen))
            var request = stage.request("changes/zone", from: "grace's phone", as: Self.grace, in: there)
            request.zoneIDs = [Self.seen]
            request.pulls = [
                ServedRequest.Pull(
                    zoneID: Self.seen, sent: nil, given: pulled.syncToken, moreComing: false,
                    changes: pulled.changes.count)
            ]
            stage.note(request)
            let read = try Self.row(of: "name=grace", on: try await stage.page("sharing"))
            #expect(
                read.contains("grace&#39;s phone") && read.contains(", up to date") && read.contains("has read up to"))
            try await stage.database.save("milk", in: RequestStage.zone)
            #expect(try Self.row(of: "name=grace", on: try await stage.page("sharing")).contains(", 1 change behind"))
            // The guest's page is about the same share; one of another zone has none.
            let theirs = try await stage.page("/c/iCloud.com.example.App/development/shared/sharing?user=grace")
            #expect(theirs.contains(">Groceries</a>") && theirs.contains("of Developer"))
            #expect(try await stage.page("sharing?user=grace").contains("No shares"))
        }
    }

    @Test func theTreeShowsTheRecordsThatAUserSees() async throws {
        try await Self.with { stage, share in
            let id = "share-\(share.sharing?.hierarchy ?? 0)"
            let page = try await stage.page("sees?zone=Notes")
            #expect(
                try Self.names(in: id, on: page) == ["list", "milk", "brand"]
                    && Self.names(in: "loose", on: page) == ["diary"])
            #expect(
                page.contains("Developer (owner), Grace (may read and write)")
                    && page.contains("Seen by only Developer") && page.contains("a milk"))
            #expect(
                page.contains("<span class=\"faint\">Item · 2 below</span>")
                    && page.contains("These records have no parent in a share"))
            // As Grace, the diary is marked and closed.
            let graces = try await stage.page("sees?zone=Notes&viewer=grace")
            #expect(
                graces.contains("Grace sees 3 of 4 records.") && graces.contains("Grace does not see this")
                    && graces.contains("shared/sees?user=grace&amp;zone="))
            let parts = graces.split(separator: "<section ")
            #expect(
                parts.filter { $0.contains("class=\"records\" open") }.map { $0.contains("id=\"\(id)\"") } == [true])
            #expect(
                try await stage.page("sees?zone=Notes&viewer=developer").contains("Developer sees all of 4 records."))
            #expect(try await stage.page("sees?zone=Notes&viewer=nobody").contains("There is no user &#39;nobody&#39;"))
            // A share below the list, which an earlier version accepted, takes its part out.
            let provenance = Provenance(created: share.created, modified: share.created)
            let inner = try await Self.share(
                "milk", as: "inner", titled: "Milk", with: [], provenance: provenance, stage)
            let both = try await stage.page("sees?zone=Notes")
            #expect(
                try Self.names(in: id, on: both) == ["list", "milk"]
                    && Self.names(in: "share-\(inner.sharing?.hierarchy ?? 0)", on: both) == ["milk", "brand"])
            #expect(both.contains("<span class=\"letter\">B</span> in another share"))
            #expect(try await stage.page("sees?zone=Notes&viewer=grace").contains("Grace sees 1 of 4 records."))
            // From one record on.
            let under = try await stage.page("sees?zone=Notes&under=brand")
            #expect(
                try Self.names(in: "share-\(inner.sharing?.hierarchy ?? 0)", on: under) == ["brand"]
                    && under.contains("under=list\">list</a>") && under.contains("under=milk\">milk</a>"))
        }
    }

    @Test func aLargeListComesInPagesThatMissNothing() async throws {
        try await Self.with { stage, share in
            let names = (1000..<1230).map { Name("item\($0)") }
            let operations = names.map {
                RecordOperation(.create, recordName: $0, recordType: "Item", parent: .record("brand"))
            }
            for start in stride(from: 0, to: operations.count, by: 100) {
                try await stage.database.apply(
                    Array(operations[start..<min(start + 100, operations.count)]), in: RequestStage.zone)
            }
            var path = "sees?zone=Notes"
            var shown: [String] = []
            for _ in 0..<3 {
                let page = try await stage.page(path)
                shown += try Self.names(in: "share-\(share.sharing?.hierarchy ?? 0)", on: page).filter {
                    $0.hasPrefix("item")
                }
                guard
                    let next = page.firstMatch(of: /href="[^"]*\/(sees\?[^"]*after=[^"]*)">[0-9]+ more in this list/)?
                        .output.1
                else { break }
                path = String(next.replacing("&amp;", with: "&"))
            }
            #expect(shown == names.map(\.string))
        }
    }

    @Test func aCircleOfParentsAndMissingParentsAreInTheTreeOnce() {
        func node(_ name: Name, _ parent: Name?, _ hierarchy: Int64? = nil) -> ZoneTree.Node {
            ZoneTree.Node(recordName: name, recordType: "Item", parent: parent, hierarchy: hierarchy)
        }
        let nodes = [
            node("a", "b"), node("b", "c"), node("c", "a"), node("own", "own"), node("orphan", "nowhere", 7),
            node("below", "orphan"), node("tail", "a"),
        ]
        let tree = SharedTree(ZoneTree(nodes: nodes, isComplete: true), shares: [])
        #expect(tree.count(in: nil) == nodes.count && tree.tops.count == 1)
        #expect(tree.ancestors(of: 6).map { tree.nodes[$0].recordName } == ["a", "b", "c"])
    }
}
