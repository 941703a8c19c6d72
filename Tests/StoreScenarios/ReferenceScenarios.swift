internal import RecordStore
internal import Records
internal import Testing

/// The effects of references.
enum ReferenceScenarios {
    private static func link(_ target: Name, _ action: Reference.Action) -> [Name: FieldValue] {
        ["link": .reference(Reference(recordName: target, action: action))]
    }

    static let all: [Scenario] = [
        .zone("DELETE_SELF follows the target, through any number of records and around circles") { database in
            try await database.save("root", in: notes)
            try await database.save("child", in: notes, link("root", .deleteSelf))
            try await database.save("grandchild", in: notes, link("child", .deleteSelf))
            try await database.save("bystander", in: notes, link("root", .none))
            try await database.save("root", in: notes, link("grandchild", .deleteSelf))
            let token = try await database.pull(notes).token
            try await database.delete("root", in: notes)
            let changes = try await database.pull(notes, since: token).changes
            #expect(changes.map(\.recordID.recordName) == ["root", "child", "grandchild"])
            #expect(changes.allSatisfy { $0.kind == .deleted })
            #expect(
                try await database.names(in: notes, of: ["root", "child", "grandchild", "bystander"]) == ["bystander"])
        },
        .zone("VALIDATE wants its target, and keeps it") { database in
            let refused7 = await refusal { try await database.save("a", in: notes, link("missing", .validate)) }
            #expect(refused7?.code == .validatingReferenceError)
            #expect(try await database.names(in: notes, of: ["a"]).isEmpty)
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .validate))
            let error = await refusal { try await database.delete("target", in: notes) }
            #expect(
                error
                    == RecordError(
                        .validatingReferenceError, "Record delete would violate validating reference, rejecting update")
            )
            #expect(try await database.names(in: notes, of: ["target"]) == ["target"])
            try await database.save("a", in: notes, link("target", .none))
            try await database.delete("target", in: notes)
        },
        .zone("a chain that validates itself falls with its target, however long its texts are") { database in
            let words = (0..<14_000).map { "w\($0)" }.joined(separator: " ")
            try await database.save("target", in: notes)
            try await database.save(
                "a", in: notes, link("target", .deleteSelf).merging(["text": .string(words)]) { $1 })
            let both: [Name: FieldValue] = [
                "link": .reference(Reference(recordName: "a", action: .validate)),
                "also": .reference(Reference(recordName: "a", action: .deleteSelf)),
            ]
            try await database.save("b", in: notes, both)
            try await database.delete("target", in: notes)
            #expect(try await database.names(in: notes, of: ["target", "a", "b"]).isEmpty)
        },
        .init("in one batch the order of target and reference does not matter") { engine, _ in
            let database = try await engine.withZone()
            let pair = [
                RecordOperation(
                    .create, recordName: "a", recordType: "Item",
                    fields: link("b", .validate).mapValues { FieldInput($0) }),
                RecordOperation(.create, recordName: "b", recordType: "Item"),
            ]
            #expect(try await database.outcomes(pair, in: notes) == [nil, nil])
            let both = [RecordOperation(.forceDelete, recordName: "b"), RecordOperation(.forceDelete, recordName: "a")]
            #expect(try await database.outcomes(both, in: notes) == [nil, nil])
        },
        .zone("a record saved with a parent wants it in its zone or in its request") { database in
            let missing = await refusal { try await database.save("child", in: notes, parent: .record("parent")) }
            #expect(missing?.code == .validatingReferenceError)
            #expect(
                missing?.reason
                    == "The parent 'parent' does not exist in the zone; save it first, or in the same request")
            #expect(try await database.names(in: notes, of: ["child"]).isEmpty)
            func save(_ name: Name, under parent: Name?) -> RecordOperation {
                RecordOperation(
                    .forceUpdate, recordName: name, recordType: "Item", parent: parent.map { .record($0) } ?? .unchanged
                )
            }
            for isAtomic in [true, false] {
                let line = [save("c", under: "b"), save("b", under: "a"), save("a", under: nil)]
                #expect(try await database.outcomes(line, in: notes, atomic: isAtomic) == [nil, nil, nil])
                // The parent is deleted in the same request, so one of both is refused, or both.
                try await database.save("e", in: notes)
                let both = [save("d", under: "e"), RecordOperation(.forceDelete, recordName: "e")]
                let outcomes = try await database.outcomes(both, in: notes, atomic: isAtomic)
                #expect(
                    outcomes
                        == (isAtomic
                            ? [.validatingReferenceError, .validatingReferenceError]
                            : [nil, .validatingReferenceError]))
                try await database.delete("d", in: notes)
                if !isAtomic {
                    #expect(
                        try await database.outcomes(both.reversed(), in: notes, atomic: false) == [
                            nil, .validatingReferenceError,
                        ])
                }
                // Records are deleted with those below them, in any order.
                let all = (["a", "b", "c", "e"] as [Name]).map { RecordOperation(.forceDelete, recordName: $0) }
                #expect(try await database.outcomes(all, in: notes, atomic: isAtomic) == [nil, nil, nil, nil])
                #expect(try await database.names(in: notes, of: ["a", "b", "c", "d", "e"]).isEmpty)
            }
            // If a parent is refused, its children are refused too.
            let refused = [save("c", under: "b"), save("b", under: "nowhere"), save("e", under: nil)]
            #expect(
                try await database.outcomes(refused, in: notes, atomic: false) == [
                    .validatingReferenceError, .validatingReferenceError, nil,
                ])
            // A child survives a parent that falls with another record, and may be saved again as long as the parent is
            // not named.
            try await database.save("f", in: notes, parent: .record("e"))
            try await database.save("target", in: notes)
            try await database.save("e", in: notes, link("target", .deleteSelf))
            try await database.delete("target", in: notes)
            #expect(try await database.names(in: notes, of: ["e", "f"]) == ["f"])
            try await database.save("f", in: notes, ["number": .int64(1)])
            let renamed = await refusal { try await database.save("f", in: notes, parent: .record("e")) }
            #expect(renamed?.code == .validatingReferenceError)
            // Restored records may come in any order.
            var restored = save("g", under: "h")
            restored.provenance = SharingStage.provenance
            #expect(try await database.outcomes([restored], in: notes) == [nil])
        },
        .init("a record that becomes a parent gets a new change tag") { engine, clock in
            let database = try await engine.withZone()
            func tag(_ name: Name, in zoneID: ZoneID = notes) async throws -> StoredRecord {
                try await database.fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil)[0].get()
            }
            func child(_ name: Name, of parent: Name?, _ kind: RecordOperation.Kind = .forceUpdate) -> RecordOperation {
                RecordOperation(
                    kind, recordName: name, recordType: "Item", parent: parent.map { .record($0) } ?? .cleared)
            }
            let parent = try await database.save("parent", in: notes, ["text": .string("x")])
            clock.advance(1000)
            let token = try await database.pull(notes).token
            let first = try await database.save("a", in: notes, parent: .record("parent"))
            let renewed = try await tag("parent")
            #expect(
                renewed.recordChangeTag != parent.recordChangeTag && renewed.fields == parent.fields
                    && renewed.created == parent.created)
            #expect(renewed.modified == first.modified)
            #expect(try await database.pull(notes, since: token).changes.map(\.recordID.recordName) == ["a", "parent"])
            // A client that knows it as it was meets a conflict, and one that sent both in one request does not, in any
            // order.
            let stale = RecordOperation(.update, recordName: "parent", recordChangeTag: parent.recordChangeTag)
            #expect(try await database.outcomes([stale], in: notes) == [.conflict])
            for (number, isAtomic) in [true, false, true, false].enumerated() {
                let (name, below) = (Name("parent \(number)"), Name("child \(number)"))
                let parent = try await database.save(name, in: notes)
                let pair = [
                    RecordOperation(.update, recordName: name, recordChangeTag: parent.recordChangeTag),
                    child(below, of: name, .create),
                ]
                let results = try await database.modify(
                    ModifyRequest(number < 2 ? pair : pair.reversed(), zoneID: notes, atomic: isAtomic))
                let saved = try results.map { result in
                    if case .saved(let record) = try result.get() { record.recordChangeTag } else { "" }
                }
                #expect(try await saved[number < 2 ? 0 : 1] == tag(name).recordChangeTag)
            }
            // Later children, and what becomes of a child, leave the parent as it is.
            try await database.save("b", in: notes, parent: .record("parent"))
            try await database.save("a", in: notes, ["text": .string("y")], parent: .record("parent"))
            try await database.delete("b", in: notes)
            #expect(try await tag("parent") == renewed)
            // A child that moves makes its new parent one. Several in one request do so once.
            let other = try await database.save("other", in: notes)
            #expect(
                try await database.outcomes(
                    [child("a", of: "other"), child("c", of: "other"), child("d", of: "other")], in: notes) == [
                        nil, nil, nil,
                    ])
            let moved = try await tag("other")
            #expect(moved.recordChangeTag != other.recordChangeTag)
            if database.can(.keepJournal) {
                #expect(
                    try await database.require(.keepJournal).journal(RecordJournalRequest(moved.recordID)).entries.count
                        == 2)
            }
            #expect(try await tag("parent") == renewed)
            // A refused save has no parent.
            try await database.save("alone", in: notes)
            let alone = try await tag("alone")
            #expect(
                try await database.outcomes([child("e", of: "alone"), child("a", of: nil, .create)], in: notes) == [
                    .atomicError, .conflict,
                ])
            #expect(
                try await database.outcomes([child("a", of: "alone", .create)], in: notes, atomic: false) == [.conflict]
            )
            #expect(try await tag("alone") == alone)
        },
        .init("restored children, and those in the public database, leave the tag of a parent as it is") { engine, _ in
            for database in [try await engine.withZone(), try await engine.full(.public)] {
                let zoneID = database.address.scope == .public ? ZoneID.default : notes
                let parent = try await database.save("parent", in: zoneID)
                // Nothing is shared in the public database, and strangers may save children there.
                let provenance = database.address.scope == .public ? nil : SharingStage.provenance
                let child = RecordOperation(
                    .create, recordName: "child", recordType: "Item", parent: .record("parent"), provenance: provenance)
                #expect(try await database.outcomes([child], in: zoneID) == [nil])
                #expect(try await database.fetch([parent.recordID], desiredKeys: nil) == [.success(parent)])
            }
        },
        .zone("no record is below itself, whatever the order") { database in
            func save(_ pairs: (Name, Name?)...) -> [RecordOperation] {
                pairs.map { name, parent in
                    RecordOperation(
                        .forceUpdate, recordName: name, recordType: "Item",
                        parent: parent.map { .record($0) } ?? .cleared)
                }
            }
            func outcomes(_ operations: [RecordOperation], atomic: Bool = true) async throws -> [ServerErrorCode?] {
                try await database.outcomes(operations, in: notes, atomic: atomic)
            }
            let names: [Name] = ["a", "b", "c"]
            for isAtomic in [true, false] {
                #expect(try await outcomes(save(("a", "a")), atomic: isAtomic) == [.badRequest])
                #expect(
                    try await outcomes(save(("a", "b"), ("b", "a")), atomic: isAtomic) == [.badRequest, .badRequest])
                let circle = save(("a", "b"), ("b", "c"), ("c", "a"))
                for operations in [circle, circle.reversed()] {
                    #expect(
                        try await outcomes(operations, atomic: isAtomic) == [.badRequest, .badRequest, .badRequest])
                }
            }
            #expect(try await database.names(in: notes, of: names) == [])
            #expect(try await outcomes(save(("a", nil), ("b", "a"), ("c", "b"))) == [nil, nil, nil])
            for (name, parent) in [("a", "a"), ("a", "b"), ("a", "c"), ("b", "c"), ("b", "b")] as [(Name, Name)] {
                let results = try await database.modify(ModifyRequest(save((name, parent)), zoneID: notes))
                guard case .failure(let error)? = results.first else {
                    Issue.record("\(name) below \(parent)")
                    continue
                }
                #expect(
                    error.code == .badRequest && error.reason.hasPrefix("Cycle detected in record graph")
                        && error.reason.contains("'\(name)'"))
            }
            // Records may change their places in one request.
            let turned = save(("a", "b"), ("b", nil))
            #expect(try await outcomes(turned) == [nil, nil])
            #expect(try await outcomes(save(("b", "a"), ("a", nil))) == [nil, nil])
            // One that is missing above its own children does not come back below them.
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .deleteSelf))
            try await database.delete("target", in: notes)
            #expect(try await outcomes(save(("a", "c"))) == [.badRequest])
            #expect(try await outcomes(save(("a", nil))) == [nil])
        },
        .zone("a parent, and what a reference keeps or deletes, is in the record's own zone") { database in
            let other = ZoneID(zoneName: "Other")
            _ = try await database.modifyZones([.create(other)])
            for zoneID in [notes, other] { try await database.save("p", in: zoneID) }
            let foreign = [
                other, ZoneID(zoneName: "Nowhere"), .default,
                ZoneID(zoneName: notes.zoneName, ownerRecordName: grace.userRecordName),
            ]
            let own = [
                notes, ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName),
                ZoneID(zoneName: notes.zoneName, ownerRecordName: "_defaultOwner"),
            ]
            for (zoneIDs, code) in [(foreign, ServerErrorCode.badRequest), (own, nil)] as [([ZoneID], ServerErrorCode?)]
            {
                for zoneID in zoneIDs {
                    var child = RecordOperation(
                        .forceUpdate, recordName: "child", recordType: "Item", parent: .record("p"))
                    child.parentZoneID = zoneID
                    #expect(try await database.outcomes([child], in: notes) == [code], "\(zoneID)")
                    for action in [Reference.Action.deleteSelf, .validate] {
                        let fields: [Name: FieldInput] = [
                            "link": FieldInput(.reference(Reference(recordName: "p", zoneID: zoneID, action: action)))
                        ]
                        let link = RecordOperation(
                            .forceReplace, recordName: "link", recordType: "Item", fields: fields)
                        #expect(try await database.outcomes([link], in: notes) == [code], "\(zoneID) \(action)")
                    }
                }
            }
        },
        .zone("a record with children stays, unless they move away or go with it") { database in
            func stays(_ kind: RecordOperation.Kind, _ name: Name, tag: String? = nil) async throws -> RecordError? {
                let results = try await database.modify(
                    ModifyRequest([RecordOperation(kind, recordName: name, recordChangeTag: tag)], zoneID: notes))
                return if case .failure(let error)? = results.first { error } else { nil }
            }
            try await database.save("parent", in: notes)
            for child in ["a", "b"] as [Name] { try await database.save(child, in: notes, parent: .record("parent")) }
            let parent = try await database.fetch([RecordID(recordName: "parent", zoneID: notes)], desiredKeys: nil)[0]
                .get()
            let error = RecordError(
                .validatingReferenceError,
                "The record 'parent' is the parent of 'a'; delete its children first, or in the same request")
            #expect(try await stays(.forceDelete, "parent") == error)
            #expect(try await stays(.delete, "parent", tag: parent.recordChangeTag) == error)
            // Other references don't keep it.
            try await database.save("plain", in: notes, link("a", .none))
            #expect(try await stays(.forceDelete, "a") == nil)
            let moving = [
                RecordOperation(.forceDelete, recordName: "parent"),
                RecordOperation(.forceUpdate, recordName: "b", recordType: "Item", parent: .cleared),
            ]
            #expect(try await database.outcomes(moving, in: notes, atomic: false) == [.validatingReferenceError, nil])
            try await database.save("b", in: notes, parent: .record("parent"))
            #expect(try await database.outcomes(moving, in: notes) == [nil, nil])
            // Children that refer to it with DELETE_SELF are deleted with it, however many there are; one that does not
            // keeps it.
            try await database.save("parent", in: notes)
            let fields = link("parent", .deleteSelf).mapValues { FieldInput($0) }
            for start in stride(from: 0, to: 600, by: 200) {
                let children = (start..<start + 200).map {
                    RecordOperation(
                        .create, recordName: Name("child \($0)"), recordType: "Item", fields: fields,
                        parent: .record("parent"))
                }
                #expect(try await database.outcomes(children, in: notes).allSatisfy { $0 == nil })
            }
            try await database.save("other", in: notes, parent: .record("parent"))
            #expect(try await stays(.forceDelete, "parent")?.reason.contains("'other'") == true)
            #expect(try await database.names(in: notes, of: ["child 0", "child 599"]).count == 2)
            try await database.delete("other", in: notes)
            #expect(try await stays(.forceDelete, "parent") == nil)
            // A client may name a child that falls with its parent anyway, in each order, if it knows the child as it
            // was.
            for isAtomic in [true, false] {
                for isParentFirst in [true, false] {
                    try await database.save("parent", in: notes)
                    let child = try await database.save(
                        "child", in: notes, link("parent", .deleteSelf), parent: .record("parent"))
                    let parent = try await database.fetch(
                        [RecordID(recordName: "parent", zoneID: notes)], desiredKeys: nil)[0].get()
                    let deletions = [parent, child].map {
                        RecordOperation(
                            .delete, recordName: $0.recordID.recordName, recordChangeTag: $0.recordChangeTag)
                    }
                    #expect(
                        try await database.outcomes(
                            isParentFirst ? deletions : deletions.reversed(), in: notes, atomic: isAtomic) == [
                                nil, nil,
                            ])
                }
            }
            try await database.save("parent", in: notes)
            try await database.save("child", in: notes, link("parent", .deleteSelf), parent: .record("parent"))
            let stale = [
                RecordOperation(.forceDelete, recordName: "parent"),
                RecordOperation(.delete, recordName: "child", recordChangeTag: "stale"),
            ]
            #expect(try await database.outcomes(stale, in: notes) == [.atomicError, .conflict])
            try await database.delete("parent", in: notes)
            // A child that falls with another record does not count either, however long the cascade.
            for count in [1, 600] {
                try await database.save("parent", in: notes)
                for start in stride(from: 0, to: count, by: 200) {
                    let others = (start..<min(start + 200, count)).map {
                        RecordOperation(
                            .create, recordName: Name("dependent \($0)"), recordType: "Item", fields: fields)
                    }
                    #expect(try await database.outcomes(others, in: notes).allSatisfy { $0 == nil })
                }
                try await database.save(
                    "child", in: notes, link("dependent \(count - 1)", .deleteSelf), parent: .record("parent"))
                #expect(try await stays(.forceDelete, "parent") == nil)
            }
            // Zones go with everything in them.
            try await database.save("parent", in: notes)
            try await database.save("child", in: notes, parent: .record("parent"))
            for result in try await database.modifyZones([.delete(notes)]) { _ = try result.get() }
        },
        .zone("a target that is deleted and saved in one batch keeps its VALIDATE references") { database in
            try await database.save("root", in: notes)
            try await database.save("target", in: notes, link("root", .deleteSelf))
            try await database.save("validating", in: notes, link("target", .validate))
            let alone = await refusal { try await database.delete("root", in: notes) }
            #expect(alone?.code == .validatingReferenceError)
            #expect(try await database.names(in: notes, of: ["root", "target"]) == ["root", "target"])
            let batch = [
                RecordOperation(.forceDelete, recordName: "root"),
                RecordOperation(.forceUpdate, recordName: "target", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch, in: notes) == [nil, nil])
            #expect(
                try await database.names(in: notes, of: ["root", "target", "validating"]) == ["target", "validating"])
        },
        .zone("records that fall together may validate each other, in circles too") { database in
            try await database.save("root", in: notes)
            func links(_ validated: Name) -> [Name: FieldValue] {
                [
                    "link": .reference(Reference(recordName: "root", action: .deleteSelf)),
                    "other": .reference(Reference(recordName: validated, action: .validate)),
                ]
            }
            try await database.save("a", in: notes, link("root", .deleteSelf))
            try await database.save("b", in: notes, links("a"))
            try await database.save("a", in: notes, links("b"))
            try await database.save("c", in: notes, links("b"))
            try await database.delete("root", in: notes)
            #expect(try await database.names(in: notes, of: ["root", "a", "b", "c"]).isEmpty)
        },
        .zone("a list may refer to one record in two ways") { database in
            try await database.save("r", in: notes)
            func links(_ actions: Reference.Action...) -> [Name: FieldValue] {
                ["links": .list(actions.map { .reference(Reference(recordName: "r", action: $0)) }, of: .reference)]
            }
            try await database.save("s", in: notes, links(.validate, .none))
            #expect(
                try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "r", zoneID: notes), limit: 9
                ).map(\.action) == [
                    .none, .validate,
                ])
            try await database.save("s", in: notes, links(.validate))
            let error = await refusal { try await database.delete("r", in: notes) }
            #expect(error?.code == .validatingReferenceError)
        },
        .zone("a target takes 750 DELETE_SELF references") { database in
            try await database.save("target", in: notes)
            let fields = link("target", .deleteSelf).mapValues { FieldInput($0) }
            for start in stride(from: 0, to: 750, by: 150) {
                let batch = (start..<start + 150).map {
                    RecordOperation(.create, recordName: Name("s\($0)"), recordType: "Item", fields: fields)
                }
                #expect(try await database.outcomes(batch, in: notes).allSatisfy { $0 == nil })
            }
            let refused8 = await refusal { try await database.save("one more", in: notes, link("target", .deleteSelf)) }
            #expect(refused8?.code == .badRequest)
            // Saving an existing referrer again does not count toward the limit of 750.
            try await database.save("s0", in: notes, link("target", .deleteSelf))
        },
        .zone("referrers are known, parents among them") { database in
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .none), parent: .record("target"))
            try await database.save(
                "b", type: "Other", in: notes,
                ["links": .list([.reference(Reference(recordName: "target"))], of: .reference)])
            let found = try await database.require(.traceReferences).referrers(
                to: RecordID(recordName: "target", zoneID: notes), limit: 10)
            #expect(found.map(\.recordName) == ["a", "a", "b"])
            #expect(found.map(\.fieldName) == ["___parent", "link", "links"])
            try await database.delete("a", in: notes)
            #expect(
                try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "target", zoneID: notes), limit: 10
                ).map(
                    \.recordName) == ["b"])
        },
    ]
}
