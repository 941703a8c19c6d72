internal import JSON
internal import RecordStore
internal import Records
internal import Testing

/// What references do to the records they join.
enum ReferenceScenarios {
    private static func link(_ target: Name, _ action: Reference.Action) -> [Name: FieldValue] {
        ["link": .reference(Reference(recordName: target, action: action))]
    }

    static let all: [Scenario] = [
        .init("DELETE_SELF follows the target, through any number of records and around circles") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("root", in: notes)
            try await database.save("child", in: notes, link("root", .deleteSelf))
            try await database.save("grandchild", in: notes, link("child", .deleteSelf))
            try await database.save("bystander", in: notes, link("root", .none))
            try await database.save("root", in: notes, link("grandchild", .deleteSelf))
            let token = try await database.pull(notes).token
            try await database.delete("root", in: notes)
            let changes = try await database.pull(notes, since: token).changes
            #expect(changes.map(\.record.recordID.recordName) == ["root", "child", "grandchild"])
            #expect(changes.allSatisfy { $0.kind == .deleted })
            #expect(try await database.names(in: notes, of: ["root", "child", "grandchild", "bystander"]) == ["bystander"])
        },
        .init("VALIDATE wants its target, and keeps it") { engine, _ in
            let database = try await engine.withZone()
            let refused7 = await refusal { try await database.save("a", in: notes, link("missing", .validate)) }
            #expect(refused7?.code == .validatingReferenceError)
            #expect(try await database.names(in: notes, of: ["a"]).isEmpty)
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .validate))
            let error = await refusal { try await database.delete("target", in: notes) }
            #expect(error == RecordError(.validatingReferenceError, "Record delete would violate validating reference, rejecting update"))
            #expect(try await database.names(in: notes, of: ["target"]) == ["target"])
            try await database.save("a", in: notes, link("target", .none))
            try await database.delete("target", in: notes)
        },
        .init("in one batch the order of target and reference does not matter") { engine, _ in
            let database = try await engine.withZone()
            let pair = [
                RecordOperation(.create, recordName: "a", recordType: "Item", fields: link("b", .validate).mapValues { FieldInput($0) }),
                RecordOperation(.create, recordName: "b", recordType: "Item"),
            ]
            #expect(try await database.outcomes(pair, in: notes) == [nil, nil])
            let both = [RecordOperation(.forceDelete, recordName: "b"), RecordOperation(.forceDelete, recordName: "a")]
            #expect(try await database.outcomes(both, in: notes) == [nil, nil])
        },
        .init("a list may refer to one record in two ways") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            func links(_ actions: Reference.Action...) -> [Name: FieldValue] {
                ["links": .list(actions.map { .reference(Reference(recordName: "r", action: $0)) }, of: .reference)]
            }
            try await database.save("s", in: notes, links(.validate, .none))
            #expect(try await database.referrers(to: RecordID(recordName: "r", zoneID: notes), limit: 9).map(\.action) == [.none, .validate])
            try await database.save("s", in: notes, links(.validate))
            let error = await refusal { try await database.delete("r", in: notes) }
            #expect(error?.code == .validatingReferenceError)
        },
        .init("a target takes 750 DELETE_SELF references") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("target", in: notes)
            let fields = link("target", .deleteSelf).mapValues { FieldInput($0) }
            for start in stride(from: 0, to: 750, by: 150) {
                let batch = (start..<start + 150).map { RecordOperation(.create, recordName: Name("s\($0)"), recordType: "Item", fields: fields) }
                #expect(try await database.outcomes(batch, in: notes).allSatisfy { $0 == nil })
            }
            let refused8 = await refusal { try await database.save("one more", in: notes, link("target", .deleteSelf)) }
            #expect(refused8?.code == .badRequest)
            // Saving one of the 750 again adds none.
            try await database.save("s0", in: notes, link("target", .deleteSelf))
        },
        .init("referrers are known, parents among them") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .none), parent: .record("target"))
            try await database.save("b", type: "Other", in: notes, ["links": .list([.reference(Reference(recordName: "target"))], of: .reference)])
            let found = try await database.referrers(to: RecordID(recordName: "target", zoneID: notes), limit: 10)
            #expect(found.map(\.recordName) == ["a", "a", "b"])
            #expect(found.map(\.fieldName) == ["___parent", "link", "links"])
            try await database.delete("a", in: notes)
            #expect(try await database.referrers(to: RecordID(recordName: "target", zoneID: notes), limit: 10).map(\.recordName) == ["b"])
        },
    ]
}
