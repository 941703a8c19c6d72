public import RecordStore
internal import Records
internal import TestSupport
public import Testing

/// Records only refer to files that exist and that they were granted. For engines with an asset ledger.
public enum AssetScenarios {
    public struct Story: Sendable, CustomTestStringConvertible {
        public let name: String
        public let play: @Sendable (any RecordEngine, TestClock) async throws -> Void

        init(_ name: String, _ play: @escaping @Sendable (any RecordEngine, TestClock) async throws -> Void) {
            self.name = name
            self.play = play
        }

        public var testDescription: String { name }
    }

    public static let all = granting + saving + using

    // MARK: Upload grants

    private static let granting: [Story] = [
        .init("a slot gets a ticket of its own, and a record without a name gets one") { engine, clock in
            let database = try await engine.withZone()
            let request = UploadRequest(recordType: "Item", fieldName: "file")
            let grants = try await database.require(.uploadAssets).grantUploads([request, request], in: notes).map {
                try $0.get()
            }
            #expect(grants.map(\.fieldName) == ["file", "file"])
            #expect(
                grants.allSatisfy { $0.recordName.utf8.count == 36 } && grants[0].recordName != grants[1].recordName)
            let ticket = try await engine.ledger().tickets.openUpload(grants[0].ticket)
            #expect(ticket?.expires.milliseconds == clock.now().milliseconds + 15 * 60 * 1000)
            #expect(try await engine.ledger().tickets.openUpload(grants[0].ticket.dropLast(4) + "AAAA") == nil)
            #expect(try await engine.ledger(.production).tickets.openUpload(grants[0].ticket) == nil)
        },
        .init("a field that can't hold the asset gets none, and the others do") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["title": .string("x")])
            let requests = ["file", "title", "___etag", "bad name"].map {
                UploadRequest(recordType: "Item", fieldName: $0, recordName: "r")
            }
            let grants = try await database.require(.uploadAssets).grantUploads(requests, in: notes)
            #expect(grants.map(\.failure?.code) == [nil, .badRequest, .badRequest, .badRequest])
            #expect(
                grants[1].failure?.reason
                    == "invalid attempt to set value type ASSETID for field 'title' for type 'Item', defined to be: STRING"
            )
            let nameless = try await database.require(.uploadAssets).grantUploads(
                [UploadRequest(recordType: "Item", fieldName: "file", recordName: "")], in: notes)
            #expect(nameless[0].failure?.code == .badRequest)
            // Refused for the same reasons as a save.
            let users = try await database.require(.uploadAssets).grantUploads(
                [UploadRequest(recordType: Schema.usersType, fieldName: "file", recordName: "r")], in: notes)
            #expect(users[0].failure?.code == .accessDenied)
            let nowhere = await refusal {
                _ = try await database.require(.uploadAssets).grantUploads(requests, in: ZoneID(zoneName: "Nowhere"))
            }
            #expect(nowhere?.code == .zoneNotFound)
            let live = try await engine.database(address(.public, .production), as: ada)
            let refused = try await live.require(.uploadAssets).grantUploads([requests[0]], in: .default)
            #expect(refused.first?.failure?.code == .notFound)
        },
        .init("a read-only participant can't upload") { engine, _ in
            let database = try await engine.withZone()
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            let shared = try await engine.database(address(.shared), as: grace)
            let request = UploadRequest(recordType: "Item", fieldName: "file", recordName: "r")
            let theirs = ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName)
            #expect(
                try await shared.require(.uploadAssets).grantUploads([request], in: theirs).first?.failure?.code
                    == .accessDenied)
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite), on: engine)
            let asset = try await engine.upload(1, for: "r", in: theirs, .shared, as: grace, at: TestClock().now())
            #expect(asset.receipt != nil)
        },
    ]

    // MARK: Saving

    private static let saving: [Story] = [
        .init("a receipt saves its asset once; an unchanged asset needs no receipt") { engine, clock in
            let database = try await engine.withZone()
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            let saved = try await database.save("r", in: notes, ["file": .asset(asset)])
            #expect(try saved.fields.assets().map(\.asset.receipt) == [nil])
            #expect(try saved.fields.assets().map(\.asset.wrappingKey) == ["key"])
            // The same save again, as after a lost answer, and the asset as a read returns it.
            try await database.save("r", in: notes, ["file": .asset(asset)])
            try await database.save(
                "r", as: .forceReplace, in: notes, ["file": .asset(try saved.fields.assets()[0].asset)])
            try await database.save("r", as: .forceReplace, in: notes)
            let again = await refusal { try await database.save("r", in: notes, ["file": .asset(asset)]) }
            #expect(again?.reason.contains("was already used") == true)
        },
        .init("an earlier version brings its file back without an upload, as long as it is there") { engine, clock in
            let database = try await engine.withZone()
            guard let file = checksum(1) else { throw RecordError(.internalError, "no checksum") }
            let recordID = RecordID(recordName: "r", zoneID: notes)
            let first = try await database.save(
                "r", in: notes, ["file": .asset(try await engine.upload(1, for: "r", at: clock.now()))])
            let second = try await database.save("r", as: .forceReplace, in: notes, ["title": .string("x")])
            let old = try await database.require(.keepJournal).journal(RecordJournalRequest(recordID)).entries[1]
            let back = try await database.require(.keepJournal).revert(
                RecordReversion(recordID, to: old.position, recordChangeTag: second.recordChangeTag))
            #expect(back.fields == first.fields)
            #expect(try await engine.ledger().entries(after: nil, limit: 9).map(\.useCount) == [1])
            let third = try await database.save("r", as: .forceReplace, in: notes)
            clock.advance(AssetTickets.receiptLifetime + 1)
            #expect(try await engine.ledger().strike([file], unusedSince: clock.now()) == [file])
            let refused = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: old.position, recordChangeTag: third.recordChangeTag))
            }
            #expect(
                refused?.code == .badRequest && refused?.reason.contains("'file' is no longer on the server") == true)
        },
        .init("a receipt is good for its field, record, type, zone and user alone") { engine, clock in
            let database = try await engine.withZone()
            _ = try await database.modifyZones([.create(ZoneID(zoneName: "Other"))])
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            let field = await refusal { try await database.save("r", in: notes, ["other": .asset(asset)]) }
            let record = await refusal { try await database.save("s", in: notes, ["file": .asset(asset)]) }
            let type = await refusal { try await database.save("r", type: "Thing", in: notes, ["file": .asset(asset)]) }
            let zone = await refusal {
                try await database.save("r", in: ZoneID(zoneName: "Other"), ["file": .asset(asset)])
            }
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite), on: engine)
            let shared = try await engine.database(address(.shared), as: grace)
            let theirs = ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName)
            let user = await refusal { try await shared.save("r", in: theirs, ["file": .asset(asset)]) }
            for error in [field, record, type, zone, user] {
                #expect(
                    error?.code == .badRequest
                        && error?.reason.contains("belongs to another field, record, type, zone or user") == true)
            }
            try await database.save("r", in: notes, ["file": .asset(asset)])
        },
        .init(
            "a receipt whose request named no zone saves its asset in any zone of that database, once, and nowhere else"
        ) { engine, clock in
            let database = try await engine.withZone()
            let asset = try await engine.upload(1, for: "r", in: nil, at: clock.now())
            let field = await refusal { try await database.save("r", in: notes, ["other": .asset(asset)]) }
            let record = await refusal { try await database.save("x", in: notes, ["file": .asset(asset)]) }
            let type = await refusal { try await database.save("r", type: "Other", in: notes, ["file": .asset(asset)]) }
            let elsewhere = try await engine.database(address(.public), as: ada)
            let scope = await refusal { try await elsewhere.save("r", ["file": .asset(asset)]) }
            let others = try await engine.database(address(.private), as: grace)
            let user = await refusal { try await others.save("r", ["file": .asset(asset)]) }
            for error in [field, record, type, scope, user] {
                #expect(error?.code == .badRequest && error?.reason.contains("belongs to another field") == true)
            }
            try await database.save("r", in: notes, ["file": .asset(asset)])
            let again = await refusal { try await database.save("r", ["file": .asset(asset)]) }
            #expect(again?.reason.contains("was already used") == true)
            let second = try await engine.upload(2, for: "r", in: nil, at: clock.now())
            try await database.save("r", ["file": .asset(second)])
        },
        .init("a receipt that is missing, made up, altered or late is refused, and so is another size") {
            engine, clock in
            let database = try await engine.withZone()
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            func reason(_ change: @Sendable (inout Asset) -> Void) async -> String {
                var changed = asset
                change(&changed)
                let value = FieldValue.asset(changed)
                return await refusal { try await database.save("r", in: notes, ["file": value]) }?.reason ?? "saved"
            }
            #expect(await reason { $0.receipt = nil }.contains("has no receipt"))
            #expect(await reason { $0.receipt = "AAAA" }.contains("is not from this database"))
            #expect(
                await reason { $0.receipt = $0.receipt.map { "B" + $0.dropFirst() } }.contains(
                    "is not from this database"))
            #expect(await reason { $0.size += 1 }.contains("do not match the upload"))
            #expect(
                await reason { $0.fileChecksum = checksum(2)?.description ?? "" }.contains("do not match the upload"))
            clock.advance(AssetTickets.receiptLifetime + 1)
            #expect(await reason { _ in }.contains("has expired"))
        },
        .init("the names of files are made harmless, at the first save and later") { engine, clock in
            let database = try await engine.withZone()
            var asset = try await engine.upload(1, for: "r", at: clock.now())
            func name(_ name: String) async throws -> String? {
                asset.fileName = name
                return try await database.save("r", in: notes, ["file": .asset(asset)]).fields.assets().first?.asset
                    .fileName
            }
            #expect(try await name("../a\nb\u{202E}gpj.exe") == ".._abgpj.exe")
            #expect(
                try await name("C:\\" + String(repeating: "x", count: 300)) == "C__"
                    + String(repeating: "x", count: 252))
            #expect(try await name("") == "C__" + String(repeating: "x", count: 252))
            #expect(try await name("Été 💬.txt") == "Été 💬.txt")
        },
        .init("two uploads with one ticket pay for one save, however late the second one came") { engine, clock in
            let database = try await engine.withZone()
            let minute: Int64 = 60_000
            let request = UploadRequest(recordType: "Item", fieldName: "file", recordName: "r")
            let sealed = try await database.require(.uploadAssets).grantUploads([request], in: notes)[0].get().ticket
            let ledger = try await engine.ledger()
            let ticket = try #require(ledger.tickets.openUpload(sealed))
            func upload(_ number: UInt8) async throws -> FieldValue {
                guard let file = checksum(number) else { throw RecordError(.internalError, "no checksum") }
                let expires = Timestamp(milliseconds: clock.now().milliseconds + AssetTickets.receiptLifetime)
                try await ledger.enter(file, size: 1, inUseUntil: expires)
                let receipt = ledger.tickets.seal(AssetReceipt(for: ticket, of: file, size: 1, expires: expires))
                return .asset(Asset(fileChecksum: file.description, size: 1, receipt: receipt))
            }
            let first = try await upload(1)
            clock.advance(14 * minute)
            let second = try await upload(2)
            try await database.save("r", in: notes, ["file": first])
            clock.advance(47 * minute)
            let refused = await refusal { try await database.save("r", in: notes, ["file": second]) }
            #expect(refused?.reason.contains("was already used") == true)
        },
        .init("a batch that fails leaves its receipts good") { engine, clock in
            let database = try await engine.withZone()
            try await database.save("taken", in: notes)
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            let operations = [
                RecordOperation(
                    .create, recordName: "r", recordType: "Item", fields: ["file": FieldInput(.asset(asset))]),
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
            ]
            #expect(try await database.outcomes(operations, in: notes) == [.atomicError, .conflict])
            #expect(try await engine.ledger().entries(after: nil, limit: 9).map(\.useCount) == [0])
            try await database.save("r", in: notes, ["file": .asset(asset)])
        },
        .init("lists hold assets, each with a receipt of its own") { engine, clock in
            let database = try await engine.withZone()
            let (one, two) = (
                try await engine.upload(1, for: "r", at: clock.now()),
                try await engine.upload(2, for: "r", at: clock.now())
            )
            try await database.save("r", in: notes, ["file": .list([.asset(one), .asset(two)], of: .asset)])
            let three = try await engine.upload(3, for: "r", at: clock.now())
            let kept = try await database.save(
                "r", in: notes, ["file": .list([.asset(two), .asset(three)], of: .asset)])
            #expect(try kept.fields.assets().map(\.asset.size) == [20, 30])
            #expect(try await engine.ledger().entries(after: nil, limit: 9).map(\.useCount) == [0, 1, 1])
        },
        .init("in the public database assets have no keys") { engine, clock in
            let database = try await engine.full(.public)
            let asset = try await engine.upload(1, for: "r", in: .default, .public, at: clock.now())
            let saved = try await database.save("r", ["file": .asset(asset)])
            #expect(try saved.fields.assets().map(\.asset.wrappingKey) == [nil])
        },
        .init("a file that was swept can't be saved") { engine, clock in
            let database = try await engine.withZone()
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            let later = Timestamp(milliseconds: clock.now().milliseconds + 2 * AssetTickets.receiptLifetime)
            #expect(try await engine.ledger().strike([checksum(1)].compactMap(\.self), unusedSince: later).count == 1)
            let error = await refusal { try await database.save("r", in: notes, ["file": .asset(asset)]) }
            #expect(error?.reason.contains("is no longer on the server") == true)
        },
        .init("rereference lets one other record in the target zone have the asset") { engine, clock in
            let database = try await engine.withZone()
            let other = ZoneID(zoneName: "Other")
            _ = try await database.modifyZones([.create(other)])
            try await database.save(
                "r", in: notes, ["file": .asset(try await engine.upload(1, for: "r", at: clock.now()))])
            let sources = [
                AssetSource(recordName: "r", fieldName: "file"), AssetSource(recordName: "r", fieldName: "none"),
                AssetSource(recordName: "x", fieldName: "file"),
            ]
            let answers = try await database.require(.uploadAssets).rereference(sources, from: notes, to: other)
            #expect(answers.map(\.failure?.code) == [nil, .badRequest, .notFound])
            let asset = try answers[0].get()
            let here = await refusal { try await database.save("s", in: notes, ["copy": .asset(asset)]) }
            #expect(here?.code == .badRequest)
            try await database.save("s", type: "Any", in: other, ["copy": .asset(asset)])
            let twice = await refusal { try await database.save("t", in: other, ["copy": .asset(asset)]) }
            #expect(twice?.reason.contains("was already used") == true)
            try await database.delete("r", in: notes)
            let file = try #require(checksum(1))
            #expect(try await engine.ledger().entry(of: file)?.useCount == 1)
        },
    ]

    // MARK: Uses

    private static let using: [Story] = [
        .init("uses are counted through saves, deletions and the ends of zones") { engine, clock in
            let database = try await engine.withZone()
            let ledger = try await engine.ledger()
            let file = try #require(checksum(1))
            func count() async throws -> Int? {
                let entry = try await ledger.entry(of: file)
                return entry?.useCount
            }
            try await database.save(
                "a", in: notes, ["file": .asset(try await engine.upload(1, for: "a", at: clock.now()))])
            try await database.save(
                "b", in: notes, ["file": .asset(try await engine.upload(1, for: "b", at: clock.now()))])
            #expect(try await count() == 2)
            #expect(
                try await database.require(.traceAssets).uses(of: file, limit: 1).visible.map(\.recordName) == ["a"])
            #expect(
                try await database.require(.traceAssets).uses(of: file, limit: 9)
                    == AssetUses(
                        visible: ["a", "b"].map {
                            AssetUse(
                                isPublic: false,
                                zoneID: ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName),
                                recordName: $0,
                                recordType: "Item", fieldName: "file")
                        }, total: 2))
            let theirs = try await engine.database(address(.private), as: grace)
            let seen = try await theirs.require(.traceAssets).uses(of: file, limit: 9)
            #expect(seen == AssetUses(visible: [], total: 2))
            try await database.save("a", in: notes, ["title": .string("x")])
            #expect(try await count() == 2)
            try await database.save("a", as: .forceReplace, in: notes)
            #expect(try await count() == 1)
            try await database.delete("b", in: notes)
            #expect(try await count() == 0)
            try await database.save(
                "b", in: notes, ["file": .asset(try await engine.upload(1, for: "b", at: clock.now()))])
            _ = try await database.modifyZones([.delete(notes)])
            // The rows of a deleted zone may be removed a little later.
            try await eventually { try await count() == 0 }
        },
        .init("a file is struck off when nothing has used it since, and not before") { engine, clock in
            let database = try await engine.withZone()
            let ledger = try await engine.ledger()
            let file = try #require(checksum(1))
            func strike() async throws -> Int {
                let struck = try await ledger.strike([file], unusedSince: clock.now())
                return struck.count
            }
            let asset = try await engine.upload(1, for: "r", at: clock.now())
            clock.advance(AssetTickets.receiptLifetime)
            #expect(try await strike() == 0)
            try await database.save("r", in: notes, ["file": .asset(asset)])
            clock.advance(AssetTickets.receiptLifetime)
            #expect(try await strike() == 0)
            #expect(try await ledger.entries(unusedSince: clock.now(), after: nil, limit: 9).isEmpty)
            try await database.delete("r", in: notes)
            #expect(try await strike() == 0)
            clock.advance(1)
            #expect(try await ledger.entries(unusedSince: clock.now(), after: nil, limit: 9).map(\.checksum) == [file])
            #expect(try await strike() == 1)
            #expect(try await ledger.entry(of: file) == nil)
        },
        .init("the assets of all records can be read") { engine, clock in
            let database = try await engine.withZone()
            try await database.save("plain", in: notes, ["title": .string(#""type":"ASSETID""#)])
            try await database.save(
                "r", in: notes, ["file": .asset(try await engine.upload(1, for: "r", at: clock.now()))])
            let everyone = try await engine.full(.public)
            try await everyone.save(
                "p", ["file": .asset(try await engine.upload(2, for: "p", in: .default, .public, at: clock.now()))])
            let ledger = try await engine.ledger()
            var found: [RecordedAsset] = []
            var place: Int64?
            repeat {
                let page = try await ledger.recordedAssets(after: place)
                found += page.assets
                place = page.next
            } while place != nil
            found.sort { $0.asset.size < $1.asset.size }
            #expect(found.map(\.use.recordName) == ["r", "p"])
            #expect(found.map(\.use.isPublic) == [false, true])
            #expect(found.map(\.isCounted) == [true, true])
        },
    ]
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
