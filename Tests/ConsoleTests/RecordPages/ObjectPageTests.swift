import AssetStore
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Objects of Core Data on the console's pages.
@Suite struct ObjectPageTests {
    private static func name(_ number: Int) -> Name { "A0000000-0000-4000-8000-\(String(100_000_000_000 + number))" }

    private static let diary = name(1)
    private static let ice = name(2)
    private static let locks = name(3)
    private static let weather = name(4)
    private static let gone = name(5)

    private static func save(_ type: Name, _ name: Name, _ fields: [Name: FieldValue], _ database: any RecordDatabase)
        async throws
    {
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: type, fields: fields.mapValues { FieldInput($0) })
        try await database.apply([operation], in: MirroredNaming.zoneID)
    }

    /// A journal with two entries, one of a sub-entity, and a tag that both have.
    private static func fill(_ database: any RecordDatabase) async throws {
        for result in try await database.modifyZones([.create(MirroredNaming.zoneID)]) { _ = try result.get() }
        try await save(
            "CD_Journal", diary, ["CD_entityName": .string("Journal"), "CD_name": .string("Diary")], database)
        try await save(
            "CD_Entry", ice,
            [
                "CD_entityName": .string("Entry"), "CD_title": .string("Ice on the locks"),
                "CD_journal": .string(diary.string), "CD_mood": .int64(3),
                "CD_uuid": .string(name(99).string), "CD_moveReceipt": .bytes([1]),
            ], database)
        try await save(
            "CD_Entry", locks,
            [
                "CD_entityName": .string("PhotoEntry"), "CD_title": .string("All locks"),
                "CD_journal": .string(diary.string),
                "CD_caption": .string("By hand"),
            ], database)
        try await save("CD_Tag", weather, ["CD_entityName": .string("Tag"), "CD_name": .string("weather")], database)
        for (number, entry) in [ice, locks, gone].enumerated() {
            try await save(
                "CDMR", name(10 + number),
                [
                    "CD_entityNames": .string("Entry:Tag"), "CD_recordNames": .string("\(entry):\(weather)"),
                    "CD_relationships": .string("tags:entries"),
                ], database)
        }
    }

    private static func run(_ body: @Sendable (EditStage) async throws -> Void) async throws {
        try await EditStage.run { stage in
            try await fill(stage.database())
            try await body(stage)
        }
    }

    private static func object(_ name: Name) -> String { "object?zone=\(MirroredNaming.zoneID.zoneName)&name=\(name)" }

    /// The row of a table that begins with a text.
    private static func row(_ beginning: String, in page: String) throws -> String {
        let main = page[(page.firstRange(of: "<main")?.lowerBound ?? page.startIndex)...]
        let start = try #require(main.firstRange(of: ">\(beginning)</"), "\(beginning)")
        let rest = main[start.lowerBound...]
        return String(rest[..<(rest.firstRange(of: "</tr>")?.lowerBound ?? rest.endIndex)])
    }

    /// The part of a page between the heading with a text and the next one.
    private static func part(_ heading: String, in page: String) throws -> String {
        let start = try #require(page.firstRange(of: "<h3>\(heading) "), "\(heading)")
        let rest = page[start.upperBound...]
        return String(rest[..<(rest.firstRange(of: "<h3>")?.lowerBound ?? rest.endIndex)])
    }

    @Test func onlyAContainerThatHasThemOffersObjects() async throws {
        try await EditStage.run { stage in
            #expect(try await !stage.page("zones").contains(">Objects"))
            #expect(try await stage.page("objects").contains("<h2>No objects</h2>"))
            try await Self.fill(stage.database())
            #expect(try await stage.page("zones").contains(">Objects"))
            #expect(
                try await stage.page("record?zone=\(MirroredNaming.zoneID.zoneName)&name=\(Self.ice)").contains(
                    "As an object"))
            try await stage.save("plain", ["title": .string("no object")])
            #expect(try await !stage.page("record?zone=Notes&name=plain").contains("As an object"))
            // Production has no such types.
            #expect(
                try await stage.page("/c/iCloud.com.example.App/production/private/objects").contains(
                    "<h2>No objects</h2>"))
        }
    }

    @Test func entitiesHaveNamesWithoutPrefixes() async throws {
        try await Self.run { stage in
            let page = try await stage.page("objects")
            let entry = try Self.row("Entry", in: page)
            #expect(
                entry.contains(">1</td>")
                    && entry.contains(">mood, title, uuid</td>"))
            #expect(entry.contains("<p>journal <span class=\"faint\">→ Journal</span></p>"))
            // A sub-entity is in the type of its parent, and has attributes of its own.
            let photo = try Self.row("PhotoEntry", in: page)
            #expect(
                photo.contains(">1</td>") && photo.contains(">caption, title</td>")
                    && photo.contains(">CD_Entry</a>"))
            #expect(try Self.row("Journal", in: page).contains(">name</td>"))
            let pairs = try Self.row(
                "Entry", in: String(page[try #require(page.firstRange(of: "Many-to-many")).lowerBound...]))
            #expect(
                pairs.contains(/>tags<\/td><td[^>]*>Tag<\/td><td[^>]*>entries<\/td>/) && page.contains(">3 pairs</a>"))
            #expect(!page.contains("moveReceipt") && !page.contains("<th scope=\"row\">CD_"))
        }
    }

    /// An entity with many objects is not taken for the whole type.
    @Test func aRareEntityIsFoundBesideACommonOne() async throws {
        try await Self.run { stage in
            let entries = (100..<300).map { number in
                RecordOperation(
                    .create, recordName: Self.name(number), recordType: "CD_Tag",
                    fields: [
                        "CD_entityName": FieldInput(.string("Tag")), "CD_name": FieldInput(.string("tag \(number)")),
                    ])
            }
            try await stage.database().apply(entries, in: MirroredNaming.zoneID)
            for (number, entity) in ["Zone", "Area"].enumerated() {
                try await Self.save(
                    "CD_Tag", Self.name(900 + number), ["CD_entityName": .string(entity), "CD_size": .int64(1)],
                    stage.database())
            }
            let page = try await stage.page("objects")
            #expect(try Self.row("Tag", in: page).contains(">201</td>"))
            for entity in ["Zone", "Area"] {
                let row = try Self.row(entity, in: page)
                #expect(
                    row.contains(">1</td>") && row.contains(">size</td>"),
                    "\(entity)")
            }
        }
    }

    @Test func aTableFollowsItsRelationshipsAndSorts() async throws {
        try await Self.run { stage in
            let list = try await stage.page("objects")
            let link = try #require(list.firstMatch(of: /<a href="([^"]*objects\/entity[^"]*)">Entry<\/a>/)?.output.1)
            let table = try await stage.page(String(link).replacing("&amp;", with: "&"))
            #expect(
                table.contains("<b>1 object</b>") && table.contains(">Ice on the locks</a>")
                    && !table.contains(">All locks<"))
            #expect(
                table.contains(">Diary</a>") && table.contains("name=\(Self.diary)"),
                "the journal is a link with its name")
            #expect(table.contains(Self.name(99).string), "a text that names no object is an attribute")
            // Both entities, by the other end of the relationship.
            let both = try await stage.page(
                "objects/entity?type=CD_Entry&filter1=CD_journal&is1=EQUALS&value1=\(Self.diary)&sort1=CD_title")
            let order = try [">All locks</a>", ">Ice on the locks</a>"].map {
                try #require(both.firstRange(of: $0)).lowerBound
            }
            #expect(order[0] < order[1] && both.contains("whose journal is \(Self.diary)"))
            #expect(both.contains("sort1=CD_title&amp;order1=descending"), "the link of the column sorts the other way")
            #expect(both.matches(of: /aria-sort="ascending"/).count == 1 && !table.contains("aria-sort=\"descending\""))
            let first = try await stage.page(
                "objects/entity?type=CD_Entry&filter1=CD_journal&is1=EQUALS&value1=\(Self.diary)&sort1=CD_title&limit=1"
            )
            #expect(first.contains(">All locks</a>") && !first.contains(">Ice on the locks</a>"))
            let next = try #require(first.firstMatch(of: /href="([^"]*)" rel="next"/)?.output.1)
            let second = try await stage.page(String(next).replacing("&amp;", with: "&"))
            #expect(
                second.contains(">Ice on the locks</a>") && !second.contains(">All locks</a>")
                    && second.contains("page 2"))
        }
    }

    @Test func aMissingIndexIsNamedAndAdded() async throws {
        try await Self.run { stage in
            let table = "objects/entity?type=CD_Entry&filter1=CD_entityName&is1=EQUALS&value1=Entry&sort1=CD_mood"
            _ = try await stage.database().require(.editSchema).edit([
                .dropIndexes(.sortable, of: .custom("CD_mood"), in: "CD_Entry")
            ])
            let refused = try await stage.page(table)
            #expect(
                refused.contains("Field &#39;CD_mood&#39; is not marked sortable") && refused.contains("Not run")
                    && !refused.contains(">Ice on the locks</a>"))
            #expect(refused.contains("Run without the sort by CD_mood"))
            let added = try await stage.location(stage.send("type/indexes", of: refused))
            #expect(added.contains("objects/entity") && added.contains("sort1=CD_mood"))
            #expect(try await stage.page(added).contains(">Ice on the locks</a>"))
        }
    }

    @Test func anObjectHasItsRelationshipsBothWays() async throws {
        try await Self.run { stage in
            let entry = try await stage.page(Self.object(Self.ice))
            #expect(
                entry.contains("<h1>Ice on the locks</h1>") && entry.contains(">mood</th>")
                    && !entry.contains(">moveReceipt</th>"))
            #expect(try Self.part("journal", in: entry).contains(">Diary</a>") && !entry.contains(">journal</th>"))
            #expect(try Self.part("tags (Tag)", in: entry).contains(">weather</a>"))
            #expect(entry.contains("record?zone=\(MirroredNaming.zoneID.zoneName)&amp;name=\(Self.ice)"))
            let journal = try await stage.page(Self.object(Self.diary))
            #expect(try Self.part("Entry, by its journal", in: journal).contains(">Ice on the locks</a>"))
            #expect(try Self.part("PhotoEntry, by its journal", in: journal).contains(">All locks</a>"))
            let tag = try await stage.page(Self.object(Self.weather))
            let entries = try Self.part("entries (Entry)", in: tag)
            for text in ["Ice on the locks", "All locks", Self.gone.string] {
                #expect(entries.contains(">\(text)</a>"), "\(text)")
            }
            // The other end of a pair may be gone: the page of the record says more.
            let missing = try await stage.get(Self.object(Self.gone))
            #expect(try stage.location(missing).contains("/record?"))
        }
    }

    @Test func theEntitiesOfATypeNeedAnIndexOnce() async throws {
        try await Self.run { stage in
            _ = try await stage.database().require(.editSchema).edit([
                .dropIndexes(.queryable, of: .custom("CD_journal"), in: "CD_Entry")
            ])
            let page = try await stage.page(Self.object(Self.diary))
            #expect(page.matches(of: /<strong>Field &#39;CD_journal&#39; is not marked queryable/).count == 1)
        }
    }

    @Test func aColumnIsForEachAttributeUpToALimit() async throws {
        try await Self.run { stage in
            // The first column has the title, of which a long one is in the field beside.
            let beside = RecordType(name: "CD_Entry", fields: ["CD_title_ckAsset": FieldDefinition(type: .asset)])
            _ = try await stage.database().require(.editSchema).edit([.addType(beside)])
            let entries = try await stage.page(
                "objects/entity?type=CD_Entry&filter1=CD_entityName&is1=EQUALS&value1=Entry")
            #expect(entries.matches(of: /<th scope="col"[^>]*>(?:<a [^>]*>)?title</).count == 1)
            var fields: [Name: FieldValue] = ["CD_entityName": .string("Wide")]
            for number in 10..<35 { fields[Name("CD_f\(number)")] = .int64(1) }
            try await Self.save("CD_Wide", Self.name(50), fields, stage.database())
            let path = "objects/entity?type=CD_Wide&filter1=CD_entityName&is1=EQUALS&value1=Wide"
            let wide = try await stage.page(path)
            #expect(wide.contains(">f29<") && !wide.contains(">f30<"))
            let link = try #require(wide.firstMatch(of: /<a href="([^"]*)">Show all 25 columns</)?.output.1)
            #expect(try await stage.page(String(link).replacing("&amp;", with: "&")).contains(">f34<"))
        }
    }

    @Test func moreTypesThanAreReadAreMentioned() async throws {
        try await Self.run { stage in
            #expect(try await stage.page("objects").contains("in the first 100 records of each type."))
            let types = (0..<50).map { SchemaEdit.addType(RecordType(name: Name("CD_T\($0)"))) }
            _ = try await stage.database().require(.editSchema).edit(types)
            #expect(try await stage.page("objects").contains("in the first 100 records of each of the first 50 types."))
        }
    }

    @Test func pairsNeedAnIndexToo() async throws {
        try await Self.run { stage in
            _ = try await stage.database().require(.editSchema).edit([
                .dropIndexes(.searchable, of: .custom("CD_recordNames"), in: "CDMR")
            ])
            let page = try await stage.page(Self.object(Self.weather))
            #expect(
                page.contains("Field &#39;CD_recordNames&#39; is not marked searchable")
                    && !page.contains(">Ice on the locks</a>"))
            let added = try await stage.location(stage.send("type/indexes", of: page))
            #expect(try await stage.page(added).contains(">Ice on the locks</a>"))
        }
    }

    @Test func aLongValueIsTheFileBeside() async throws {
        try await Self.run { stage in
            let container = try #require(ContainerID("iCloud.com.example.App"))
            let store = try await stage.assets.store(container, .development)
            for (field, text) in [("CD_body_ckAsset", "a very long text"), ("CD_photo_ckAsset", "bytes")]
                as [(Name, String)]
            {
                let request = UploadRequest(recordType: "CD_Entry", fieldName: field, recordName: Self.ice)
                let grant = try #require(
                    try await stage.database().require(.uploadAssets).grantUploads([request], in: MirroredNaming.zoneID)
                        .first
                ).get()
                let body = AsyncStream { continuation in
                    continuation.yield(ByteBuffer(string: text))
                    continuation.finish()
                }
                let asset = try await store.receive(body, ticket: grant.ticket, fileName: nil, declaredSize: nil)
                try await Self.save("CD_Entry", Self.ice, [field: .asset(asset)], stage.database())
            }
            try await Self.save("CD_Entry", Self.locks, ["CD_body": .string("short")], stage.database())
            let page = try await stage.page(Self.object(Self.ice))
            let long = try Self.row("body", in: page)
            #expect(long.contains("STRING, in a file") && long.contains("16 bytes"))
            #expect(try Self.row("photo", in: page).contains("text or bytes, in a file"))
            #expect(
                page.contains("<h3>Files</h3>") && page.matches(of: /Save to disk<span class="hidden"> CD_/).count == 2)
            let list = try await stage.page("objects")
            #expect(
                try Self.row("Entry", in: list).contains("body, mood, photo, title, uuid"),
                "each pair of fields is one attribute")
        }
    }

    /// The pairs may fill the first page of the feed.
    @Test func objectsBehindPairsAreFoundInICloud() async throws {
        try await ConnectedStage.run { stage in
            let database = try await stage.there()
            for result in try await database.modifyZones([.create(MirroredNaming.zoneID)]) { _ = try result.get() }
            let fields: [Name: FieldInput] = [
                MirroredLink.namesField: FieldInput(.string("\(Self.ice):\(Self.weather)")),
                MirroredLink.relationshipsField: FieldInput(.string("tags:entries")),
            ]
            for start in [1000, 1200] {
                let pairs = (start..<(start + 150)).map {
                    RecordOperation(
                        .create, recordName: Self.name($0), recordType: MirroredLink.recordType, fields: fields)
                }
                try await database.apply(pairs, in: MirroredNaming.zoneID)
            }
            #expect(
                try await stage.page("objects").contains(
                    "None is among the types of the records that came from iCloud so far."))
            try await Self.save(
                "CD_Tag", Self.weather, ["CD_entityName": .string("Tag"), "CD_name": .string("weather")], database)
            #expect(try Self.row("Tag", in: try await stage.page("objects")).contains("CD_Tag"))
        }
    }

    /// Nobody tells the types of a container in iCloud. The feed of Core Data's zone does.
    @Test func objectsInICloudAreFollowedOnDemand() async throws {
        try await ConnectedStage.run { stage in
            try await Self.fill(stage.there())
            let list = try await stage.page("objects")
            #expect(try Self.row("Entry", in: list).contains(">–</td>"))
            #expect(try Self.row("Entry", in: list).contains("journal <span class=\"faint\">→ Journal</span>"))
            #expect(list.contains(">Objects"), "the menu offers it now")
            let before = stage.requestCount
            let page = try await stage.page(Self.object(Self.diary))
            #expect(
                page.contains("<h1>Diary</h1>") && !page.contains(">Ice on the locks</a>")
                    && stage.requestCount - before <= 3)
            let follow = try #require(page.firstMatch(of: /href="([^"]*)">Ask iCloud/)?.output.1)
            #expect(
                try await stage.page(String(follow).replacing("&amp;", with: "&")).contains(">Ice on the locks</a>"))
        }
    }
}
