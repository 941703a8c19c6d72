internal import RecordStore
internal import Records
internal import Testing

/// Changes of the schema of a zone that shares records. For engines with ``RecordStore/Capability/shareRecords``.
enum SharedTypeScenarios {
    /// A book on a shelf that Grace sees, and a page of the book, which has another type.
    private static let names: [Name] = ["shelf", "book", "page", "share"]

    private static func shelf(on engine: any RecordEngine) async throws -> (SharingStage, share: StoredRecord) {
        let stage = try await SharingStage(on: engine)
        try await stage.owner.save("shelf", type: "Shelf", in: notes)
        try await stage.owner.save(
            "book", type: "Book", in: notes, ["text": .string("x"), "author": .string("y")], parent: .record("shelf"))
        try await stage.owner.save("page", in: notes, parent: .record("book"))
        let share = try await stage.share("shelf", with: [SharingStage.invitation(grace)])
        try await stage.accept(share, as: grace)
        return (stage, share)
    }

    static let all: [Scenario] = [
        .init("a type stays while a share needs one of its records") { engine, _ in
            let (stage, _) = try await shelf(on: engine)
            func refused(_ type: Name) async throws -> String? {
                let schema = try await stage.owner.require(.showSchema).schema()
                let error = await refusal {
                    try await stage.owner.edit(.removeType("Book"), .removeType(type))
                }
                #expect(error?.code == .badRequest)
                #expect(try await stage.owner.require(.showSchema).schema() == schema)
                return error?.reason
            }
            let reason = try await refused("Shelf")
            for part in ["'Shelf'", "'share'", "'shelf'", "'Notes'", "delete the share first"] {
                #expect(reason?.contains(part) == true, "\(part)")
            }
            #expect(try await refused(Share.recordType)?.contains("'share'") == true)
            #expect(try await stage.shared(grace).names(in: SharingStage.seen, of: names) == names)
            #expect(try await stage.owner.names(in: notes, of: names) == names)
            // Without the share, both go, and the next one brings its type along.
            try await stage.owner.delete("share", in: notes)
            try await stage.owner.edit(.removeType("Shelf"), .removeType(Share.recordType))
            #expect(try await stage.owner.names(in: notes, of: names) == ["book", "page"])
            let whole = try await stage.save(
                Share.zoneWideName, .create, tag: nil, ShareInput(participants: [SharingStage.invitation(grace)]))
            #expect(try await refused(Share.recordType)?.contains("'\(Share.zoneWideName)'") == true)
            #expect(
                try await stage.owner.require(.showSchema).schema().types[Share.recordType]?.fields == Share.type.fields
            )
            // In a zone that is shared as a whole, the other types go as everywhere.
            try await stage.accept(whole, as: grace)
            let token = try await stage.shared(grace).pull(SharingStage.seen).token
            try await stage.owner.edit(.removeType("Book"))
            #expect(
                try await stage.shared(grace).pull(SharingStage.seen, since: token).changes.map(\.recordID.recordName)
                    == ["book"])
        },
        .init("guests are told of records that are deleted with their type, and of those below them") { engine, _ in
            let (stage, share) = try await shelf(on: engine)
            let graces = try await stage.shared(grace)
            let token = try await graces.pull(SharingStage.seen).token
            try await stage.owner.edit(.removeType("Book"))
            let gone = try await graces.pull(SharingStage.seen, since: token).changes
            #expect(
                Set(gone.map(\.recordID.recordName)) == ["book", "page"] && gone.allSatisfy { $0.kind == .deleted })
            #expect(try await graces.names(in: SharingStage.seen, of: names) == ["shelf", "share"])
            #expect(try await stage.owner.names(in: notes, of: names) == ["shelf", "page", "share"])
            #expect(try await stage.current("page").sharing?.hierarchy == nil)
            // The share goes on: a record of the same name may come back.
            try await stage.owner.save("book", type: "Book", in: notes, parent: .record("shelf"))
            #expect(try await graces.names(in: SharingStage.seen, of: names).contains("book"))
            #expect(try await stage.accept(share, as: grace).participant?.status == .accepted)
        },
        .init("a removed field is gone for guests too") { engine, _ in
            let (stage, _) = try await shelf(on: engine)
            let graces = try await stage.shared(grace)
            let token = try await graces.pull(SharingStage.seen).token
            try await stage.owner.edit(.removeField("author", in: "Book"))
            let book = try await graces.fetch(
                [RecordID(recordName: "book", zoneID: SharingStage.seen)], desiredKeys: nil)[0].get()
            #expect(try book.fields.decoded().map(\.name) == ["text"])
            #expect(try await book.recordChangeTag == stage.current("book").recordChangeTag)
            #expect(try await graces.pull(SharingStage.seen, since: token).changes.isEmpty)
            // CloudKit's own fields of shares stay.
            let refused = await refusal {
                try await stage.owner.edit(.removeField(Share.titleField, in: Share.recordType))
            }
            #expect(refused?.code == .badRequest && refused?.reason.contains("belongs to CloudKit") == true)
        },
        .init("a reset ends all shares, and guests are told once") { engine, _ in
            let (stage, share) = try await shelf(on: engine)
            let graces = try await stage.shared(grace)
            let token = try await graces.databaseChanges(DatabaseChangesRequest()).syncToken
            _ = try await stage.owner.require(.editSchema).reset(to: Schema.initial)
            let page = try await graces.databaseChanges(
                DatabaseChangesRequest(since: token, includesGoneZones: true, limit: 9))
            #expect(page.changes.map(\.kind) == [.purged] && page.changes.map(\.zoneID) == [SharingStage.seen])
            #expect(try await graces.zones().isEmpty)
            #expect(await refusal { _ = try await stage.accept(share, as: grace) }?.code == .notFound)
            // A zone of the same name has nothing of it.
            _ = try await engine.withZone()
            try await stage.owner.save("shelf", type: "Shelf", in: notes)
            #expect(try await stage.current("shelf").sharing == nil)
            #expect(try await graces.zones().isEmpty)
            let second = try await stage.share("shelf", with: [SharingStage.invitation(grace)])
            try await stage.accept(second, as: grace)
            #expect(try await graces.names(in: SharingStage.seen, of: names) == ["shelf", "share"])
        },
    ]
}
