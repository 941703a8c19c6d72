internal import RecordStore
internal import Records
internal import Testing

/// Shares of hierarchies and zones, as CloudKit has them. For engines with ``RecordStore/Capability/shareRecords``.
enum SharingScenarios {
    private static let everything: [Name] = ["list", "milk", "brand", "bread", "diary", "share"]
    private static let hierarchy: [Name] = ["list", "milk", "brand", "bread", "share"]
    private static let denied = ServerErrorCode.accessDenied

    /// For engines that list shares, and are told the addresses of callers.
    static let here: [Scenario] = [
        .sharing("shares within another one and circles of parents that were stored stay as they are") { stage in
            let inner = try await stage.share("milk", as: "inner", with: [SharingStage.invitation(mary)])
            try await stage.accept(inner, as: mary)
            let outer = try await stage.restoreShare("list", as: "share", with: [SharingStage.invitation(grace)])
            try await stage.accept(outer, as: grace)
            let names = everything + ["inner"]
            func areSeen(_ outer: [Name], _ inner: [Name]) async throws -> Bool {
                let (graces, marys) = (
                    try await stage.visible(to: grace, of: names), try await stage.visible(to: mary, of: names)
                )
                return graces == outer && marys == inner
            }
            #expect(try await areSeen(["list", "bread", "share"], ["milk", "brand", "inner"]))
            // Saves that don't touch the parent go through, also with the parent that is there.
            for parent in [.unchanged, .record("list")] as [RecordOperation.Parent] {
                try await stage.owner.save("milk", in: notes, ["text": .string("m")], parent: parent)
            }
            try await stage.shared(mary).save("brand", in: SharingStage.seen, ["text": .string("b")])
            for share in [inner, outer] {
                let name = share.recordID.recordName
                try await stage.save(
                    name, tag: stage.current(name).recordChangeTag, ShareInput(publicPermission: .readOnly))
            }
            #expect(try await areSeen(["list", "bread", "share"], ["milk", "brand", "inner"]))
            try await stage.owner.delete("inner", in: notes)
            #expect(try await areSeen(hierarchy, []))
            func restore(_ name: Name, below parent: Name) async throws -> [ServerErrorCode?] {
                let operation = RecordOperation(
                    .forceUpdate, recordName: name, recordType: "Item", parent: .record(parent),
                    provenance: SharingStage.provenance)
                return try await stage.owner.outcomes([operation], in: notes)
            }
            for (name, parent) in [("x", "y"), ("y", "x"), ("own", "own")] as [(Name, Name)] {
                #expect(try await restore(name, below: parent) == [nil])
            }
            // No version had circles within a hierarchy, where they would stay without a way to the root.
            for (name, parent) in [("milk", "brand"), ("bread", "bread")] as [(Name, Name)] {
                #expect(try await restore(name, below: parent) == [.badRequest])
            }
            for name in ["x", "own"] as [Name] {
                try await stage.owner.save(name, in: notes, ["text": .string("again")])
            }
            try await stage.owner.save("z", in: notes, parent: .record("x"))
            #expect(try await stage.current("x").parent == "y")
            try await stage.owner.save("y", in: notes, parent: .record("list"))
            #expect(
                try await stage.visible(to: grace, of: hierarchy + ["x", "y", "z", "own"]) == hierarchy + [
                    "x", "y", "z",
                ])
        },
        .sharing("an invitation to an e-mail address is for whoever has it") { stage in
            var invited = SharingStage.invitation(grace)
            invited.lookupInfo = LookupInfo(emailAddress: SharingStage.graceAddress)
            let share = try await stage.share(with: [invited])
            let refused = await refusal {
                _ = try await stage.accept(share, as: grace, emailAddress: "other@example.org")
            }
            #expect(refused?.code == denied)
            let nobody = Caller(userRecordName: "_anonymous", access: .anonymous)
            #expect(await refusal { _ = try await stage.accept(share, as: nobody) }?.code == .authenticationRequired)
            #expect(
                try await stage.accept(share, as: grace, emailAddress: "Grace@Example.org").participant?.status
                    == .accepted)
            #expect(try await stage.visible(to: grace, of: everything) == hierarchy)
        },
        .init("owners and guests list their shares, and see the tree of the records") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let list = try await stage.share(with: [SharingStage.invitation(grace)])
            let diary = try await stage.share("diary", as: "diary share", with: [SharingStage.invitation(mary)])
            _ = try await stage.owner.modifyZones([.create(ZoneID(zoneName: "Other"))])
            try await stage.owner.save("loose", in: notes)
            // An administrator sees what a link leads to, whoever may use it.
            let found = try await engine.full(.public, as: mary).require(.listShares).shares(linkedBy: [
                list.sharing?.shortGUID ?? "", "unknown",
            ])
            #expect(try found[0].get().share == list && found[0].get().root?.recordID.recordName == "list")
            #expect(throws: RecordError.self) { try found[1].get() }
            try await stage.accept(list, as: grace)
            try await stage.accept(diary, as: mary)
            func names(_ database: any RecordDatabase, in zoneID: ZoneID? = nil, after: Int64? = nil, limit: Int = 10)
                async throws -> [Name]
            {
                try await database.require(.listShares).shares(in: zoneID, after: after, limit: limit).map(
                    \.record.recordID.recordName)
            }
            #expect(try await names(stage.owner) == ["share", "diary share"])
            #expect(try await names(stage.owner, in: notes) == ["share", "diary share"])
            for zoneID in [ZoneID(zoneName: "Other"), .default] {
                #expect(try await names(stage.owner, in: zoneID) == [])
            }
            #expect(
                await refusal { _ = try await names(stage.owner, in: ZoneID(zoneName: "Nowhere")) }?.code
                    == .zoneNotFound)
            // In pages.
            let first = try #require(
                try await stage.owner.require(.listShares).shares(in: nil, after: nil, limit: 1).first)
            #expect(
                first.rootName == "list" && first.share.guests == [grace.userRecordName]
                    && first.zoneID.zoneName == notes.zoneName)
            #expect(try await names(stage.owner, after: first.hierarchy) == ["diary share"])
            // Each guest sees those that the guest takes part in.
            let (graces, marys) = (try await stage.shared(grace), try await stage.shared(mary))
            for zoneID in [nil, SharingStage.seen] {
                #expect(try await names(graces, in: zoneID) == ["share"])
                #expect(try await names(marys, in: zoneID) == ["diary share"])
            }
            #expect(
                try await graces.require(.listShares).shares(in: nil, after: nil, limit: 1).map(\.zoneID) == [
                    SharingStage.seen
                ])
            let (own, open) = (try await engine.full(.private, as: grace), try await engine.full(.public, as: ada))
            for database in [own, open] { #expect(try await names(database) == []) }
            // A record leads to its share.
            func shower(of name: Name) async throws -> Name? {
                let share = try await stage.owner.share(showing: stage.current(name))
                return share?.record.recordID.recordName
            }
            #expect(try await shower(of: "brand") == "share")
            #expect(try await shower(of: "loose") == nil)
            // The tree of the owner has everything, that of a guest what the guest sees.
            let tree = try await stage.owner.require(.listShares).tree(of: notes, limit: 100)
            let hierarchies = Dictionary(
                tree.nodes.map { ($0.recordName, $0.hierarchy) }, uniquingKeysWith: { first, _ in first })
            #expect(tree.isComplete && Set(tree.nodes.map(\.recordName)) == Set(everything + ["diary share", "loose"]))
            for name in hierarchy { #expect(hierarchies[name] == first.hierarchy, "\(name)") }
            #expect(hierarchies["loose"] == .some(nil) && hierarchies["diary"] != hierarchies["list"])
            #expect(
                tree.nodes.first { $0.recordName == "brand" }.map { [$0.recordType, $0.parent] } == ["Item", "milk"])
            let seen = try await graces.require(.listShares).tree(of: SharingStage.seen, limit: 100).nodes
            #expect(
                Set(seen.map(\.recordName)) == Set(hierarchy) && seen.allSatisfy { $0.hierarchy == first.hierarchy })
            let part = try await stage.owner.require(.listShares).tree(of: notes, limit: 2)
            #expect(part.nodes == Array(tree.nodes.prefix(2)) && !part.isComplete)
            // Shares that have ended are gone, those of the zone count for all its records.
            for share: Name in ["share", "diary share"] { try await stage.owner.delete(share, in: notes) }
            for database in [stage.owner, graces] { #expect(try await names(database) == []) }
            #expect(try await shower(of: "brand") == nil)
            let whole = try await stage.save(
                Share.zoneWideName, .create, tag: nil, ShareInput(participants: [SharingStage.invitation(grace)]))
            try await stage.accept(whole, as: grace)
            #expect(try await shower(of: "brand") == Share.zoneWideName)
            #expect(try await names(graces) == [Share.zoneWideName])
            #expect(try await graces.require(.listShares).tree(of: SharingStage.seen, limit: 100).nodes.count == 7)
        },
    ]

    static let all: [Scenario] = [
        .sharing("a list is shared with two users, who see it and nothing else") { stage in
            let root = try await stage.current("list")
            let share = try await stage.share(
                tag: root.recordChangeTag,
                with: [SharingStage.invitation(grace), SharingStage.invitation(mary, .readOnly)])
            let top = try #require(share.sharing?.share)
            #expect(
                top.rootName == "list" && top.publicPermission == .none
                    && top.participants.map(\.role) == [.owner, .user, .user])
            #expect(
                top.participants.map(\.status) == [.accepted, .invited, .invited]
                    && top.owner?.userRecordName == ada.userRecordName)
            let shared = try await stage.current("list")
            #expect(
                shared.recordChangeTag != root.recordChangeTag && shared.sharing?.shareName == "share"
                    && shared.sharing?.shortGUID == top.shortGUID)
            #expect(try await stage.visible(to: grace, of: everything) == [])
            let accepted = try await stage.accept(share, as: grace)
            #expect(
                accepted.root?.recordID == RecordID(recordName: "list", zoneID: SharingStage.seen)
                    && accepted.participant?.status == .accepted)
            // A lost answer is asked for again.
            #expect(try await stage.accept(share, as: grace) == accepted)
            try await stage.accept(share, as: mary)
            for guest in [grace, mary] { #expect(try await stage.visible(to: guest, of: everything) == hierarchy) }
            let (graces, marys) = (try await stage.shared(grace), try await stage.shared(mary))
            let copy = try await graces.fetch(
                [RecordID(recordName: "milk", zoneID: SharingStage.seen)], desiredKeys: nil)[0].get()
            let original = try await stage.current("milk")
            #expect(
                copy.recordChangeTag == original.recordChangeTag && copy.fields == original.fields
                    && copy.parent == "list")
            // Reading and writing.
            let before = try await marys.pull(SharingStage.seen).token
            let saved = try await graces.save(
                "milk", as: .update, in: SharingStage.seen, tag: copy.recordChangeTag, ["text": .string("oat milk")])
            #expect(saved.modified.userRecordName == grace.userRecordName && saved.recordID.zoneID == SharingStage.seen)
            try await graces.save("butter", in: SharingStage.seen, parent: .record("bread"))
            let news = try await marys.pull(SharingStage.seen, since: before).changes
            // The bread has a new change tag, as the parent of its first child.
            #expect(
                news.map(\.recordID.recordName) == ["milk", "butter", "bread"]
                    && news.map(\.kind) == [.modified, .created, .modified])
            #expect(try await stage.current("bread").recordChangeTag == news.last?.record?.recordChangeTag)
            #expect(try await stage.current("milk").recordChangeTag == news.first?.record?.recordChangeTag)
            let refused2 = await refusal { try await marys.save("milk", in: SharingStage.seen) }
            #expect(refused2 == RecordError(.accessDenied, "WRITE operation not permitted"))
            #expect(
                try await marys.outcomes([RecordOperation(.forceDelete, recordName: "milk")], in: SharingStage.seen)
                    == [denied])
            // The owner moves an item out, with what is below it, and back.
            let token = try await marys.pull(SharingStage.seen).token
            try await stage.owner.save("milk", in: notes, parent: .cleared)
            let left = try await marys.pull(SharingStage.seen, since: token).changes
            #expect(
                Set(left.map(\.recordID.recordName)) == ["milk", "brand"] && left.allSatisfy { $0.kind == .deleted })
            try await stage.owner.save("milk", in: notes, parent: .record("list"))
            let back = try await marys.pull(SharingStage.seen, since: token).changes
            #expect(
                Set(back.map(\.recordID.recordName)) == ["milk", "brand"] && back.allSatisfy { $0.kind == .recreated })
            #expect(try await stage.visible(to: grace, of: everything + ["butter"]) == hierarchy + ["butter"])
            // One leaves.
            let zones = try await graces.databaseChanges(DatabaseChangesRequest()).syncToken
            try await graces.delete("share", in: SharingStage.seen)
            #expect(
                try await graces.databaseChanges(DatabaseChangesRequest(since: zones)).changes.map(\.kind) == [.deleted]
            )
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(try await stage.visible(to: mary, of: everything + ["butter"]) == hierarchy + ["butter"])
            #expect(
                try await stage.current("share").sharing?.share?.participants.map(\.status) == [
                    .accepted, .removed, .accepted,
                ])
            #expect(try await stage.owner.names(in: notes, of: everything) == everything)
        },
        .sharing("a guest's rights, by role, operation and place") { stage in
            try await stage.owner.save("other", in: notes)
            let share = try await stage.share(with: [
                SharingStage.invitation(grace), SharingStage.invitation(mary, .readOnly),
            ])
            for guest in [grace, mary] { try await stage.accept(share, as: guest) }
            func code(_ operation: RecordOperation, _ guest: Caller) async throws -> ServerErrorCode? {
                try await stage.shared(guest).outcomes([operation], in: SharingStage.seen)[0]
            }
            func save(_ name: Name, _ kind: RecordOperation.Kind, _ parent: RecordOperation.Parent = .unchanged)
                -> RecordOperation
            {
                RecordOperation(kind, recordName: name, recordType: "Item", parent: parent)
            }
            // The operation, its outcome for a guest who may write, and for one who may only read.
            let table: [(RecordOperation, ServerErrorCode?, ServerErrorCode?)] = [
                (save("list", .forceUpdate), nil, denied),
                (save("list", .forceUpdate, .record("milk")), denied, denied),
                (save("milk", .forceUpdate), nil, denied),
                (save("brand", .forceReplace, .record("bread")), nil, denied),
                (save("diary", .forceUpdate), denied, denied),
                (save("diary", .create, .record("list")), .conflict, denied),
                (save("milk", .forceUpdate, .cleared), denied, denied),
                (save("milk", .forceUpdate, .record("diary")), denied, denied),
                (save("milk", .forceUpdate, .record("nowhere")), denied, denied),
                (save("top", .create), denied, denied),
                (save("top", .create, .record("diary")), denied, denied),
                (save("new", .create, .record("brand")), nil, denied),
                (RecordOperation(.update, recordName: "diary", recordChangeTag: "1"), .notFound, denied),
                (RecordOperation(.forceDelete, recordName: "list"), denied, denied),
                (RecordOperation(.forceDelete, recordName: "diary"), nil, denied),
                (RecordOperation(.delete, recordName: "diary", recordChangeTag: "1"), .notFound, denied),
                (RecordOperation(.create, recordName: "mine", recordType: Share.recordType), denied, denied),
                (RecordOperation(.forceDelete, recordName: "bread"), .validatingReferenceError, denied),
                (RecordOperation(.forceDelete, recordName: "new"), nil, denied),
            ]
            for (operation, writer, reader) in table {
                #expect(try await code(operation, mary) == reader, "\(operation)")
                #expect(try await code(operation, grace) == writer, "\(operation)")
            }
            #expect(
                try await stage.owner.names(in: notes, of: everything + ["new", "top", "other"]) == everything + [
                    "other"
                ])
            // Parents and children of one request, in either order.
            let chain = [save("grandchild", .create, .record("child")), save("child", .create, .record("list"))]
            for isAtomic in [true, false] {
                #expect(
                    try await stage.shared(grace).outcomes(chain, in: SharingStage.seen, atomic: isAtomic)
                        == (isAtomic ? [nil, nil] : [.conflict, .conflict]))
            }
            #expect(
                try await stage.shared(mary).names(in: SharingStage.seen, of: ["child", "grandchild"]) == [
                    "child", "grandchild",
                ])
        },
        .init("a share is refused where there must not be one") { engine, _ in
            let stage = try await SharingStage(on: engine)
            func code(_ body: () async throws -> Void) async -> ServerErrorCode? {
                let error = await refusal(body)
                return error?.code
            }
            #expect(
                await refusal { try await stage.share("nowhere") }
                    == RecordError(.notFound, "Cannot share - no such record exists to share"))
            #expect(
                await refusal { try await stage.share(tag: "0") }
                    == RecordError(.conflict, "client oplock error updating record"))
            #expect(await code { try await stage.save("share", .create, tag: nil, ShareInput()) } == .badRequest)
            let crowd = (0..<Share.participantLimit).map {
                ShareParticipant(participantID: "\($0)", lookupInfo: LookupInfo(emailAddress: "\($0)@x.org"))
            }
            #expect(await code { try await stage.share(with: crowd) } == .badRequest)
            let share = try await stage.share(with: Array(crowd.dropLast()))
            #expect(share.sharing?.share?.participants.count == Share.participantLimit)
            #expect(await code { try await stage.share(as: "again") } == .badRequest)
            #expect(
                await code { try await stage.save(Share.zoneWideName, .create, tag: nil, ShareInput()) } == .badRequest)
            var misplaced = RecordOperation(.create, recordName: "x", recordType: "Item")
            misplaced.share.publicPermission = .readOnly
            #expect(try await stage.owner.outcomes([misplaced], in: notes) == [.badRequest])
            let inDefault = RecordOperation(.create, recordName: Share.zoneWideName, recordType: Share.recordType)
            #expect(try await stage.owner.outcomes([inDefault]) == [.badRequest])
            #expect(await code { _ = try await stage.accept(share, as: ada) } == .badRequest)
            #expect(
                try await engine.full(.public, as: grace).require(.shareRecords).resolve(["unknown"], by: LookupInfo())
                    .map {
                        (try? $0.get()) == nil
                    } == [true])
            // A circle would have no way to the root.
            #expect(
                await code { try await stage.owner.save("milk", in: notes, parent: .record("brand")) } == .badRequest)
        },
        .sharing("participants are replaced, if nobody changed the share before") { stage in
            let share = try await stage.share(with: [SharingStage.invitation(grace), SharingStage.invitation(mary)])
            try await stage.accept(share, as: grace)
            let all = try #require(share.sharing?.share?.participants)
            for kind in [RecordOperation.Kind.update, .forceUpdate] {
                let refused = await refusal {
                    try await stage.save("share", kind, tag: share.recordChangeTag, ShareInput(participants: all))
                }
                #expect(refused?.code == .conflict, "Grace has accepted since")
            }
            // A guest can give others no rights.
            let current = try await stage.current("share")
            let refused = await refusal {
                try await stage.save(
                    "share", tag: current.recordChangeTag,
                    ShareInput(participants: all + [SharingStage.invitation(ada)]), as: grace)
            }
            #expect(refused?.code == denied)
            // The one who accepted stays accepted, with other rights; the other one is not invited any more.
            var reader = all[1]
            (reader.permission, reader.status) = (.readOnly, .invited)
            let changed = try await stage.save(
                "share", tag: current.recordChangeTag, ShareInput(participants: [all[0], reader]))
            #expect(
                changed.sharing?.share?.participants.map(\.status) == [.accepted, .accepted]
                    && changed.sharing?.share?.permission(of: grace.userRecordName) == .readOnly)
            #expect(
                try await stage.shared(grace).outcomes(
                    [RecordOperation(.forceUpdate, recordName: "milk", recordType: "Item")], in: SharingStage.seen) == [
                        denied
                    ])
            #expect(await refusal { _ = try await stage.accept(share, as: mary) }?.code == denied)
            let zones = try await stage.shared(grace).databaseChanges(DatabaseChangesRequest()).syncToken
            try await stage.save("share", tag: changed.recordChangeTag, ShareInput(participants: [all[0]]))
            #expect(
                try await stage.shared(grace).databaseChanges(DatabaseChangesRequest(since: zones)).changes.map(\.kind)
                    == [.deleted])
            #expect(try await stage.visible(to: grace, of: everything) == [])
        },
        .sharing("everybody with the link may join, until it is closed") { stage in
            let share = try await stage.share(publicPermission: .readWrite)
            let joined = try await stage.accept(share, as: mary)
            #expect(joined.participant?.role == .publicUser && !joined.isOwner)
            try await stage.shared(mary).save("milk", in: SharingStage.seen)
            let open = try await stage.current("share")
            let readable = try await stage.save(
                "share", tag: open.recordChangeTag, ShareInput(publicPermission: .readOnly))
            #expect(await refusal { try await stage.shared(mary).save("milk", in: SharingStage.seen) }?.code == denied)
            #expect(try await stage.visible(to: mary, of: everything) == hierarchy)
            // Who came by the link has the right of the link: the entry says so, and takes no other one.
            #expect(readable.sharing?.share?.participants.map(\.permission) == [.readWrite, .readOnly])
            func told(_ permission: SharePermission, as role: ShareParticipant.Role = .publicUser, id: String? = nil)
                throws -> ShareInput
            {
                var participants = try #require(readable.sharing?.share?.participants)
                (participants[1].permission, participants[1].role) = (permission, role)
                if let id { participants[1].participantID = id }
                return ShareInput(participants: participants)
            }
            let other = await refusal { try await stage.save("share", tag: readable.recordChangeTag, told(.readWrite)) }
            #expect(other?.code == .badRequest && other?.reason.contains("publicPermission") == true)
            // A client sends back what it has, also with another right of the link.
            var both = try told(.readOnly)
            both.publicPermission = .readWrite
            let writable = try await stage.save("share", tag: readable.recordChangeTag, both)
            #expect(writable.sharing?.share?.participants.map(\.permission) == [.readWrite, .readWrite])
            try await stage.shared(mary).save("milk", in: SharingStage.seen)
            // The remedy that the refusal names.
            let named = try await stage.save(
                "share", tag: writable.recordChangeTag, told(.readOnly, as: .user, id: "named"))
            #expect(
                named.sharing?.share?.permission(of: mary.userRecordName) == .readOnly
                    && named.sharing?.share?.participants.last?.status == .accepted)
            #expect(await refusal { try await stage.shared(mary).save("milk", in: SharingStage.seen) }?.code == denied)
            let again = try await stage.save("share", tag: named.recordChangeTag, ShareInput(participants: []))
            try await stage.accept(again, as: mary)
            let opened = try await stage.current("share")
            let closed = try await stage.save(
                "share", tag: opened.recordChangeTag, ShareInput(publicPermission: SharePermission.none))
            #expect(closed.sharing?.share?.participants.count == 1)
            #expect(try await stage.visible(to: mary, of: everything) == [])
            #expect(await refusal { _ = try await stage.accept(share, as: mary) }?.code == denied)
        },
        .sharing("a share that ends leaves its records to their owner, and the link stays the same") { stage in
            let share = try await stage.share(with: [SharingStage.invitation(grace)])
            try await stage.accept(share, as: grace)
            let root = try await stage.current("list")
            let token = try await stage.shared(grace).pull(SharingStage.seen).token
            try await stage.owner.delete("share", in: notes)
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(
                try await stage.owner.names(in: notes, of: everything) == ["list", "milk", "brand", "bread", "diary"])
            let after = try await stage.current("list")
            #expect(after.recordChangeTag != root.recordChangeTag && after.sharing?.shareName == nil)
            #expect(await refusal { try await stage.share(as: "second", tag: root.recordChangeTag) }?.code == .conflict)
            let second = try await stage.share(
                as: "second", tag: after.recordChangeTag, with: [SharingStage.invitation(grace)])
            #expect(second.sharing?.shortGUID == share.sharing?.shortGUID)
            try await stage.accept(second, as: grace)
            #expect(
                try await stage.visible(to: grace, of: everything + ["second"]) == [
                    "list", "milk", "brand", "bread", "second",
                ])
            #expect(
                await refusal { _ = try await stage.shared(grace).pull(SharingStage.seen, since: token) }?.reason
                    == "client knowledge differs from server knowledge")
            // The root takes its share with it, but not the records below it.
            #expect(
                await refusal { try await stage.owner.delete("list", in: notes) }?.code == .validatingReferenceError)
            for name in ["milk", "bread"] as [Name] { try await stage.owner.save(name, in: notes, parent: .cleared) }
            try await stage.owner.delete("list", in: notes)
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(
                try await stage.owner.names(in: notes, of: everything + ["second"]) == [
                    "milk", "brand", "bread", "diary",
                ])
        },
        .init("a share and what is saved with it may come in one request, in each order") { engine, _ in
            for isAtomic in [true, false] {
                for isShareFirst in [true, false] {
                    let stage = try await SharingStage(on: engine)
                    var share = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
                    share.share = ShareInput(
                        root: .init(recordName: "list", recordChangeTag: nil),
                        participants: [SharingStage.invitation(grace)])
                    let child = RecordOperation(.create, recordName: "new", recordType: "Item", parent: .record("list"))
                    let operations = isShareFirst ? [share, child] : [child, share]
                    #expect(try await stage.owner.outcomes(operations, in: notes, atomic: isAtomic) == [nil, nil])
                    try await stage.accept(stage.current("share"), as: grace)
                    #expect(try await stage.visible(to: grace, of: everything + ["new"]) == hierarchy + ["new"])
                    for result in try await stage.owner.modifyZones([.delete(notes)]) { _ = try result.get() }
                }
            }
        },
        .sharing("a guest's deletion ends no share, and its owner's does") { stage in
            let share = try await stage.share(with: [SharingStage.invitation(grace)])
            try await stage.accept(share, as: grace)
            let guest = try await stage.shared(grace)
            func fields(_ target: Name) -> [Name: FieldValue] {
                ["on": .reference(Reference(recordName: target, action: .deleteSelf))]
            }
            // The root can't be made to fall, but other records can.
            #expect(
                await refusal { try await guest.save("list", in: SharingStage.seen, fields("bread")) }?.code == denied)
            try await guest.save("milk", in: SharingStage.seen, fields("bread"))
            try await stage.owner.save("list", in: notes, fields("bread"))
            // A guest sends back the owner's reference.
            try await guest.save("list", in: SharingStage.seen, fields("bread"))
            let named = Reference(recordName: "bread", zoneID: SharingStage.seen, action: .deleteSelf)
            try await guest.save("list", in: SharingStage.seen, ["on": .reference(named)])
            try await stage.owner.save("share", type: Share.recordType, in: notes, fields("bread"))
            try await stage.owner.save("diary", in: notes, fields("bread"))
            try await guest.delete("bread", in: SharingStage.seen)
            #expect(try await stage.owner.names(in: notes, of: everything) == ["list", "brand", "share"])
            #expect(try await stage.visible(to: grace, of: everything) == ["list", "share"])
            // The owner's deletion takes the root and its share, but a share alone stays.
            for target in ["bread", "shop"] as [Name] { try await stage.owner.save(target, in: notes) }
            try await stage.owner.save("share", type: Share.recordType, in: notes, fields("bread"))
            try await stage.owner.save("list", in: notes, fields("shop"))
            try await stage.owner.delete("bread", in: notes)
            #expect(try await stage.visible(to: grace, of: everything) == ["list", "share"])
            try await stage.owner.delete("shop", in: notes)
            #expect(try await stage.owner.names(in: notes, of: everything) == ["brand"])
            #expect(try await stage.visible(to: grace, of: everything) == [])
        },
        .sharing("several hierarchies of a zone are one zone for a guest") { stage in
            let list = try await stage.share(with: [SharingStage.invitation(grace)])
            let diary = try await stage.share(
                "diary", as: "diary share", with: [SharingStage.invitation(grace, .readOnly)])
            try await stage.accept(list, as: grace)
            let graces = try await stage.shared(grace)
            let token = try await graces.pull(SharingStage.seen).token
            try await stage.accept(diary, as: grace)
            #expect(
                Set(try await graces.pull(SharingStage.seen, since: token).changes.map(\.recordID.recordName)) == [
                    "diary", "diary share",
                ])
            #expect(
                try await stage.visible(to: grace, of: everything + ["diary share"]) == everything + ["diary share"])
            // Each has its own rights, and records may move between them.
            #expect(
                try await graces.outcomes(
                    [RecordOperation(.forceUpdate, recordName: "diary", recordType: "Item")], in: SharingStage.seen)
                    == [denied])
            #expect(
                try await graces.outcomes(
                    [RecordOperation(.forceUpdate, recordName: "milk", recordType: "Item", parent: .record("diary"))],
                    in: SharingStage.seen)
                    == [denied])
            try await stage.owner.save("milk", in: notes, parent: .record("diary"))
            let both = try await graces.pull(SharingStage.seen).token
            try await stage.owner.delete("share", in: notes)
            let gone = try await graces.pull(SharingStage.seen, since: both).changes
            #expect(
                Set(gone.map(\.recordID.recordName)) == ["list", "bread", "share"]
                    && gone.allSatisfy { $0.kind == .deleted })
            #expect(
                try await stage.visible(to: grace, of: everything + ["diary share"]) == [
                    "milk", "brand", "diary", "diary share",
                ])
            // Deleting the zone leaves all its shares; a second time there is no zone.
            #expect(
                try await graces.modifyZones([.delete(SharingStage.seen)]).map { (try? $0.get()) == nil } == [false])
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(try await graces.modifyZones([.delete(SharingStage.seen)])[0] == .failure(.zoneNotFound))
            #expect(
                try await stage.owner.names(in: notes, of: everything) == ["list", "milk", "brand", "bread", "diary"])
        },
        .sharing("a record is shared once: not below a share, nor above one, in any order") { stage in
            let outer = try await stage.share(with: [SharingStage.invitation(grace)])
            try await stage.accept(outer, as: grace)
            let (above, below) = (
                "it has a parent, and its parent has a share", "it is a parent, and one of its children has a share"
            )
            func refused(_ reason: String, _ body: () async throws -> Void) async throws {
                let error = await refusal(body)
                #expect(
                    error?.code == .badRequest && error?.reason.contains(reason) == true,
                    "\(reason): \(String(describing: error))")
                #expect(try await stage.visible(to: grace, of: everything + ["inner"]) == hierarchy)
            }
            for root in ["milk", "brand"] as [Name] {
                try await refused(above) { try await stage.share(root, as: "inner") }
            }
            // By moving a shared record, or one with a shared record below it, under a shared one.
            try await stage.owner.save("leaf", in: notes, parent: .record("diary"))
            try await stage.share("diary", as: "diary share")
            try await refused(above) { try await stage.owner.save("diary", in: notes, parent: .record("bread")) }
            try await stage.owner.delete("diary share", in: notes)
            try await stage.share("leaf", as: "leaf share")
            try await refused(below) { try await stage.share("diary", as: "diary share") }
            try await refused(below) { try await stage.owner.save("diary", in: notes, parent: .record("bread")) }
            // What leads to no share within another one goes through.
            try await stage.owner.save("shelf", in: notes)
            try await stage.owner.save("diary", in: notes, parent: .record("shelf"))
            try await stage.owner.save("leaf", in: notes, ["text": .string("again")], parent: .record("diary"))
            // The whole request counts, in each order.
            func share(_ root: Name, as name: Name) -> RecordOperation {
                var operation = RecordOperation(.create, recordName: name, recordType: Share.recordType)
                operation.share = ShareInput(root: .init(recordName: root, recordChangeTag: nil))
                return operation
            }
            let apart = [
                share("milk", as: "inner"),
                RecordOperation(.forceUpdate, recordName: "milk", recordType: "Item", parent: .cleared),
            ]
            for operations in [apart, apart.reversed()] {
                #expect(try await stage.owner.outcomes(operations, in: notes) == [nil, nil])
                try await stage.owner.delete("inner", in: notes)
                try await stage.owner.save("milk", in: notes, parent: .record("list"))
            }
            try await stage.owner.delete("share", in: notes)
            let both = [share("list", as: "outer"), share("milk", as: "inner")]
            for operations in [both, both.reversed()] {
                #expect(try await stage.owner.outcomes(operations, in: notes) == [.badRequest, .badRequest])
                #expect(try await stage.owner.outcomes(operations, in: notes, atomic: false) == [nil, .badRequest])
                for name in ["outer", "inner"] as [Name] { try await stage.owner.delete(name, in: notes) }
            }
        },
        .init("a share ends with its zone") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let share = try await stage.share(with: [SharingStage.invitation(grace)])
            try await stage.accept(share, as: grace)
            _ = try await stage.owner.modifyZones([.delete(notes)])
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(
                try await engine.full(.public, as: grace).require(.shareRecords).resolve(
                    [share.sharing?.shortGUID ?? ""], by: LookupInfo()
                )
                .map { (try? $0.get()) == nil } == [true])
        },
        .sharing("a share is in the zone of its root") { stage in
            for zoneID in [
                ZoneID(zoneName: "Other"), ZoneID(zoneName: notes.zoneName, ownerRecordName: grace.userRecordName),
            ] {
                let refused = await refusal {
                    try await stage.save(
                        "share", .create, tag: nil,
                        ShareInput(root: .init(recordName: "list", zoneID: zoneID, recordChangeTag: nil)))
                }
                #expect(refused?.code == .badRequest && refused?.reason.contains("'forRecord'") == true)
            }
            try await stage.save(
                "share", .create, tag: nil,
                ShareInput(root: .init(recordName: "list", zoneID: SharingStage.seen, recordChangeTag: nil)))
        },
        .sharing("a share of the zone shows everything in it") { stage in
            let share = try await stage.save(
                Share.zoneWideName, .create, tag: nil,
                ShareInput(participants: [SharingStage.invitation(grace), SharingStage.invitation(mary, .readOnly)]))
            #expect(
                await refusal { try await stage.save(Share.zoneWideName, .create, tag: nil, ShareInput()) }
                    == RecordError(.conflict, "record to insert already exists"))
            #expect(await refusal { try await stage.share() }?.code == .badRequest)
            for guest in [grace, mary] {
                let accepted = try await stage.accept(share, as: guest)
                #expect(accepted.root == nil && accepted.participant?.status == .accepted)
                let names = try await stage.visible(to: guest, of: everything + [Share.zoneWideName])
                #expect(names == ["list", "milk", "brand", "bread", "diary", Share.zoneWideName])
            }
            try await stage.shared(grace).save("top", in: SharingStage.seen)
            #expect(await refusal { try await stage.shared(mary).save("top", in: SharingStage.seen) }?.code == denied)
            #expect(try await stage.owner.participants(of: notes).map(\.permission) == [.readOnly, .readWrite])
            try await stage.shared(mary).delete(Share.zoneWideName, in: SharingStage.seen)
            #expect(try await stage.visible(to: mary, of: everything) == [])
            try await stage.owner.delete(Share.zoneWideName, in: notes)
            #expect(try await stage.visible(to: grace, of: everything) == [])
            #expect(
                try await stage.owner.names(in: notes, of: everything + ["top"]) == [
                    "list", "milk", "brand", "bread", "diary", "top",
                ])
        },
        .init("a zone is shared with one user at once, through its share") { engine, _ in
            let stage = try await SharingStage(on: engine)
            func share(_ guest: Caller, _ permission: ZoneParticipant.Permission) async throws {
                try await stage.owner.share(
                    notes, with: ZoneParticipant(userRecordName: guest.userRecordName, permission: permission),
                    on: engine)
            }
            func participants() async throws -> [ZoneParticipant] { try await stage.owner.participants(of: notes) }
            func zones(_ guest: Caller) async throws -> [ZoneID] { try await stage.shared(guest).zones().map(\.zoneID) }
            // Parts of a zone and all of it exclude each other.
            let part = try await stage.share(with: [SharingStage.invitation(grace)])
            #expect(await refusal { try await share(grace, .readOnly) }?.code == .badRequest)
            #expect(try await participants().isEmpty)
            try await stage.owner.delete(part.recordID.recordName, in: notes)
            try await share(grace, .readOnly)
            let first = try await stage.current(Share.zoneWideName)
            let top = try #require(first.sharing?.share)
            #expect(
                top.participants.map(\.status) == [.accepted, .accepted] && top.publicPermission == .none
                    && top.rootName == nil)
            #expect(try await zones(grace) == [SharingStage.seen])
            // Once more changes nothing; another permission changes nothing else.
            try await share(grace, .readOnly)
            #expect(try await stage.current(Share.zoneWideName) == first)
            try await share(grace, .readWrite)
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
            try await share(mary, .readOnly)
            let both = try #require(try await stage.current(Share.zoneWideName).sharing?.share)
            #expect(
                both.shortGUID == top.shortGUID
                    && both.participants.map(\.participantID).prefix(2) == top.participants.map(\.participantID)[...])
            #expect(
                Set(try await participants()) == [
                    ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite),
                    ZoneParticipant(userRecordName: mary.userRecordName, permission: .readOnly),
                ])
            // One leaves and comes back, one is removed.
            try await stage.shared(grace).delete(Share.zoneWideName, in: SharingStage.seen)
            #expect(try await participants().map(\.userRecordName) == [mary.userRecordName])
            try await share(grace, .readOnly)
            try await stage.owner.stopSharing(notes, with: mary.userRecordName)
            #expect(try await zones(mary).isEmpty)
            #expect(
                try await participants() == [
                    ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly)
                ])
            #expect(
                await refusal { try await stage.owner.stopSharing(notes, with: mary.userRecordName) }
                    == ZoneRules.notShared)
            // The share ends with its last guest.
            try await stage.owner.stopSharing(notes, with: grace.userRecordName)
            #expect(try await zones(grace).isEmpty)
            #expect(try await stage.owner.names(in: notes, of: [Share.zoneWideName]).isEmpty)
            #expect(
                await refusal { try await stage.owner.stopSharing(notes, with: grace.userRecordName) }
                    == ZoneRules.notShared)
            // But not while everybody with the link is let in. One of them may be given rights of her own.
            let open = try await stage.save(
                Share.zoneWideName, .create, tag: nil, ShareInput(publicPermission: .readOnly))
            try await stage.accept(open, as: mary)
            try await share(mary, .readWrite)
            #expect(
                try await participants() == [
                    ZoneParticipant(userRecordName: mary.userRecordName, permission: .readWrite)
                ])
            try await stage.owner.stopSharing(notes, with: mary.userRecordName)
            #expect(try await stage.current(Share.zoneWideName).sharing?.share?.participants.count == 1)
            #expect(
                try await stage.owner.names(in: notes, of: everything) == ["list", "milk", "brand", "bread", "diary"])
        },
        .init("a zone is shared with several users at the same time, and none is lost") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let guests = (0..<5).map { Caller(userRecordName: Name("_0000000000000000000000000000000\($0)")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for guest in guests {
                    group.addTask {
                        try await stage.owner.share(
                            notes, with: ZoneParticipant(userRecordName: guest.userRecordName, permission: .readOnly),
                            on: engine)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await stage.owner.participants(of: notes).map(\.userRecordName) == guests.map(\.userRecordName))
            for guest in guests { #expect(try await stage.shared(guest).zones().map(\.zoneID) == [SharingStage.seen]) }
        },
    ]
}
