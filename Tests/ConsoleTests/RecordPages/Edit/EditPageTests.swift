import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import TestSupport
import Testing

/// Creating, changing and copying records with forms, without scripts.
@Suite struct EditPageTests {
    private static let form = "record/save"

    /// The number of a field's inputs on a page.
    private func number(_ field: String, _ page: String) throws -> String {
        String(
            try #require(page.firstMatch(of: try Regex("name=\"field(\\d+)\" value=\"\(field)\""))?.output[1].substring)
        )
    }

    @Test func filledFieldsComeFirst() async throws {
        try await EditStage.run { stage in
            try await stage.save(
                "some", ["weight": .double(1), "place": .location(Location(latitude: 1, longitude: 2))])
            let page = try await stage.page("record/edit?zone=Notes&name=some")
            let fields = page.matches(of: /name="field\d+" value="([a-z]+)"/).map { String($0.output.1) }
            #expect(fields == ["place", "weight", "data", "due", "file", "rank", "room", "secret", "tags", "title"])
            #expect(
                page.contains("<h1>Edit <span class=\"mono\">some</span></h1>") && !page.contains("Times are in UTC"))
        }
    }

    @Test func aRecordIsMadeWithAFieldOfEveryType() async throws {
        try await EditStage.run { stage in
            try await stage.save("Room/1", [:])
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            func input(_ part: String, _ field: String) throws -> String { "\(part)-\(try number(field, page))-1" }
            var grown = EditStage.text(
                try await stage.send(Self.form, of: page, button: ("do", "grow-\(try number("tags", page))")))
            grown = EditStage.text(
                try await stage.send(Self.form, of: grown, button: ("do", "grow-\(try number("tags", page))")))
            let tags = try number("tags", page)
            let answer = try await stage.send(
                Self.form, of: grown,
                [
                    "name": "all of it", "parent": "Room/1", try input("text", "title"): "Two\r\nlines \"&<",
                    try input("text", "rank"): "9223372036854775807",
                    try input("text", "weight"): "1e-3", try input("text", "due"): "2026-11-20 18:00:00.250",
                    try input("latitude", "place"): "47.45",
                    try input("longitude", "place"): "-122.31", try input("altitude", "place"): "12.5",
                    try input("text", "room"): "Room/1",
                    try input("action", "room"): "DELETE_SELF", try input("text", "data"): "00 ff 7F",
                    try input("as", "data"): "hex",
                    "text-\(tags)-1": "one", "text-\(tags)-2": "two", try input("text", "secret"): "hush",
                ])
            #expect(try stage.location(answer).contains("record?zone=Notes&name=all%20of%20it&notice=record-created"))
            let values = try await stage.values("all of it")
            #expect(values["title"] == .string("Two\nlines \"&<"))
            #expect(values["rank"] == .int64(.max))
            #expect(values["weight"] == .double(0.001))
            #expect(values["due"] == .timestamp(Timestamp(milliseconds: 1_795_197_600_250)))
            var place = Location(latitude: 47.45, longitude: -122.31)
            place.altitude = 12.5
            #expect(values["place"] == .location(place))
            #expect(values["room"] == .reference(Reference(recordName: "Room/1", action: .deleteSelf)))
            #expect(values["data"] == .bytes([0, 255, 127]))
            #expect(values["tags"] == .list([.string("one"), .string("two")], of: .string))
            let record = try await stage.record("all of it")
            #expect(record.parent == "Room/1")
            #expect(try record.fields.decoded().first { $0.name == "secret" }?.isEncrypted == true)
        }
    }

    @Test func whatIsLeftAsItWasIsNotSavedAnew() async throws {
        try await EditStage.run { stage in
            // Text that no form can carry: other line endings, NUL, and accents in two normal forms.
            let odd = "a\r\nb\rc\u{0}d e\u{301} \u{e9}"
            let many = FieldValue.list((0..<150).map { .string("tag \($0)\r") }, of: .string)
            let before = try await stage.save(
                "odd", ["title": .string(odd), "tags": many, "rank": .int64(1), "data": .bytes([1, 2])])
            let page = try await stage.page("record/edit?zone=Notes&name=odd")
            let untouched = EditStage.text(try await stage.send(Self.form, of: page))
            #expect(untouched.contains("Nothing was changed, so nothing was saved."))
            #expect(try await stage.record("odd") == before)
            let answer = try await stage.send(Self.form, of: page, ["text-\(try number("rank", page))-1": "2"])
            #expect(try stage.location(answer).contains("notice=record-saved"))
            let values = try await stage.values("odd")
            #expect(values["rank"] == .int64(2))
            guard case .string(let title)? = values["title"] else { throw EditStage.Missing() }
            #expect(Name(title) == Name(odd))
            #expect(values["tags"] == many)
            #expect(values["data"] == .bytes([1, 2]))
        }
    }

    @Test func theOtherValuesOfAListStayToTheByte() async throws {
        try await EditStage.run { stage in
            try await stage.save(
                "list", ["tags": .list([.string("a"), .string(" "), .string("x\r\ny"), .string("last")], of: .string)])
            let page = try await stage.page("record/edit?zone=Notes&name=list")
            let tags = try number("tags", page)
            _ = try stage.location(try await stage.send(Self.form, of: page, ["text-\(tags)-1": "b"]))
            let changed = FieldValue.list(
                [.string("b"), .string(" "), .string("x\r\ny"), .string("last")], of: .string)
            #expect(
                try await stage.values("list")["tags"].map { EditStage.bytes(of: $0) } == EditStage.bytes(of: changed))
            let again = try await stage.page("record/edit?zone=Notes&name=list")
            let without = EditStage.text(try await stage.send(Self.form, of: again, button: ("do", "drop-\(tags)-1")))
            _ = try stage.location(try await stage.send(Self.form, of: without))
            let rest = FieldValue.list([.string(" "), .string("x\r\ny"), .string("last")], of: .string)
            #expect(try await stage.values("list")["tags"].map { EditStage.bytes(of: $0) } == EditStage.bytes(of: rest))
        }
    }

    @Test func whiteSpaceIsText() async throws {
        try await EditStage.run { stage in
            try await stage.save("space", ["title": .string("x"), "rank": .int64(1)])
            let page = try await stage.page("record/edit?zone=Notes&name=space")
            let typed = ["text-\(try number("title", page))-1": "  ", "text-\(try number("rank", page))-1": " "]
            _ = try stage.location(try await stage.send(Self.form, of: page, typed.mapValues { Optional($0) }))
            #expect(try await stage.values("space") == ["title": .string("  ")])
        }
    }

    /// Choosing another notation without scripts does not change the bytes.
    @Test func anotherNotationIsNoOtherValue() async throws {
        try await EditStage.run { stage in
            try await stage.save("bytes", ["data": .bytes([0, 1, 2]), "rank": .int64(1)])
            let page = try await stage.page("record/edit?zone=Notes&name=bytes")
            let (data, rank) = (try number("data", page), try number("rank", page))
            #expect(page.contains("AAEC"))
            _ = try stage.location(
                try await stage.send(Self.form, of: page, ["as-\(data)-1": "hex", "text-\(rank)-1": "2"]))
            #expect(try await stage.values("bytes") == ["data": .bytes([0, 1, 2]), "rank": .int64(2)])
            let again = try await stage.page("record/edit?zone=Notes&name=bytes")
            let shown = EditStage.text(
                try await stage.send(Self.form, of: again, ["as-\(data)-1": "hex"], button: ("do", "redraw")))
            #expect(shown.contains("\n000102</textarea>"))
            // Typed text is read in the selected notation.
            _ = try stage.location(
                try await stage.send(Self.form, of: again, ["as-\(data)-1": "hex", "text-\(data)-1": "abcd"]))
            #expect(try await stage.values("bytes")["data"] == .bytes([0xAB, 0xCD]))
        }
    }

    @Test func noValueAndAnEmptyOneAreTwoThings() async throws {
        try await EditStage.run { stage in
            try await stage.save(
                "note", ["title": .string("text"), "rank": .int64(1), "tags": .list([.string("a")], of: .string)])
            let page = try await stage.page("record/edit?zone=Notes&name=note")
            let (title, rank, tags) = (try number("title", page), try number("rank", page), try number("tags", page))
            let without = EditStage.text(try await stage.send(Self.form, of: page, button: ("do", "drop-\(tags)-1")))
            _ = try stage.location(
                try await stage.send(
                    Self.form, of: without,
                    ["text-\(title)-1": "", "empty-\(title)-1": "1", "text-\(rank)-1": "", "emptylist\(tags)": "1"]))
            #expect(try await stage.values("note") == ["title": .string(""), "tags": .list([], of: .string)])
            // The field that has no value now comes after the others.
            let again = try await stage.page("record/edit?zone=Notes&name=note")
            let boxes =
                try ["empty-\(number("title", again))-1": nil, "emptylist\(number("tags", again))": nil]
                as [String: String?]
            _ = try stage.location(try await stage.send(Self.form, of: again, boxes))
            #expect(try await stage.values("note") == [:])
        }
    }

    @Test(arguments: [
        ("rank", "text", "9223372036854775808", "not a whole number"), ("rank", "text", "1.5", "not a whole number"),
        ("weight", "text", "heavy", "not a number"),
        ("weight", "text", "nan", "not a number"), ("due", "text", "2026-02-30", "not a time"),
        ("data", "text", "%%%", "not base64"),
        ("place", "latitude", "47", "both latitude and longitude"), ("place", "latitude", "91", "from -90 to 90"),
    ])
    func anInvalidValueHasAMessageBesideItsField(field: String, part: String, typed: String, complaint: String)
        async throws
    {
        try await EditStage.run { stage in
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            let number = try number(field, page)
            let others = ["text-\(try self.number("title", page))-1": "kept <text>", "name": "kept name"]
            let changes = others.merging(["\(part)-\(number)-1": typed]) { _, new in new }
            let answer = try await stage.send(Self.form, of: page, changes.mapValues { Optional($0) })
            let again = EditStage.text(answer)
            let row = try #require(again.firstRange(of: "id=\"f\(number)\"").map { again[$0.lowerBound...] })
            #expect(
                row.firstRange(of: complaint).map {
                    $0.lowerBound < (row.dropFirst().firstRange(of: "class=\"line")?.lowerBound ?? row.endIndex)
                } == true)
            // The form keeps all input, including the invalid value.
            let form = try #require(HTMLForm(again, sentTo: Self.form))
            for (name, value) in changes { #expect(form.fields.contains { $0.0 == name && $0.1 == value }, "\(name)") }
        }
    }

    @Test func aRefusalIsShownBesideItsField() async throws {
        try await EditStage.run { stage in
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            let room = try number("room", page)
            let answer = try await stage.send(
                Self.form, of: page,
                [
                    "text-\(room)-1": "nobody", "action-\(room)-1": "VALIDATE",
                    "text-\(try number("title", page))-1": "kept",
                ])
            let again = EditStage.text(answer)
            #expect(
                again.contains("id=\"problem-\(room)\"") && again.contains("its target &#39;nobody&#39; does not exist")
                    && again.contains("kept"))
        }
    }

    @Test func aNameThatIsTakenLeadsToItsRecord() async throws {
        try await EditStage.run { stage in
            try await stage.save("taken", [:])
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            let answer = try await stage.send(
                Self.form, of: page, ["name": "taken", "text-\(try number("title", page))-1": "kept"])
            let again = EditStage.text(answer)
            #expect(
                again.contains("The zone already has a record with this name")
                    && again.contains("record/edit?zone=Notes&amp;name=taken") && again.contains("kept"))
        }
    }

    @Test func aFieldIsAddedInDevelopmentOnly() async throws {
        try await EditStage.run { stage in
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            let added = EditStage.text(
                try await stage.send(
                    Self.form, of: page, ["newField": "score", "newType": "LIST<INT64>"], button: ("do", "field")))
            #expect(added.contains(">new field</span>"))
            let answer = try await stage.send(
                Self.form, of: added, ["name": "scored", "text-\(try number("score", added))-1": "7"])
            _ = try stage.location(answer)
            #expect(try await stage.values("scored") == ["score": .list([.int64(7)], of: .int64)])
            #expect(
                try await stage.database().require(.showSchema).schema().types["Note"]?.fields["score"]?.type
                    == .list(.int64))
            for (name, problem) in [
                ("9lives", "must start with a letter"), ("title", "already"), ("recordName", "system field"),
            ] {
                let refused = EditStage.text(
                    try await stage.send(
                        Self.form, of: page, ["newField": name, "newType": "STRING", "name": "kept"],
                        button: ("do", "field")))
                #expect(refused.contains(problem) && refused.contains("value=\"kept\""), "\(name)")
            }
            let production = EditStage.there.replacing("development", with: "production")
            let fixed = try await stage.page("\(production)/record/new?type=Note&zone=_defaultZone")
            #expect(
                !fixed.contains("name=\"newField\"")
                    && fixed.contains("To add fields, add them in development and deploy"))
            let forced = try await stage.send(
                Self.form, of: fixed, ["newField": "score", "newType": "STRING"], button: ("do", "field"))
            #expect(EditStage.text(forced).contains("production schema"))
            #expect(try await stage.get("\(production)/record/new?type=Other&zone=_defaultZone").status == .notFound)
        }
    }

    @Test func aNewTypeIsMadeWithItsFirstRecord() async throws {
        try await EditStage.run { stage in
            let start = try await stage.page("record/new")
            #expect(start.contains("name=\"newType\""))
            // A page about all zones chooses none.
            #expect(start.contains("<option value=\"\" selected>choose a zone</option>"))
            let chosen = try await stage.page("record/new?zone=Notes")
            #expect(chosen.contains("<option value=\"Notes\" selected>") && !chosen.contains("choose a zone"))
            let page = try await stage.page("record/new?newType=Thing&zone=Notes")
            #expect(page.contains("The type Thing does not exist yet"))
            let added = EditStage.text(
                try await stage.send(
                    Self.form, of: page, ["newField": "kind", "newType": "STRING"], button: ("do", "field")))
            _ = try stage.location(try await stage.send(Self.form, of: added, ["name": "thing", "text-1-1": "small"]))
            #expect(try await stage.values("thing") == ["kind": .string("small")])
        }
    }

    @Test func recordsAreFoundForAReference() async throws {
        try await EditStage.run { stage in
            for name in ["Room/a", "Room/b", "Ruin", "Room"] { try await stage.save(Name(name), [:]) }
            let page = try await stage.page("record/new?type=Note&zone=Notes")
            let room = try number("room", page)
            let found = EditStage.text(
                try await stage.send(Self.form, of: page, ["text-\(room)-1": "Roo"], button: ("do", "find-\(room)-1")))
            let names = found.matches(of: try Regex("name=\"pick-\(room)-1\" value=\"([^\"]*)\"")).compactMap {
                $0.output[1].substring.map(String.init)
            }
            #expect(names == ["Room", "Room/a", "Room/b"])
            let picked = EditStage.text(
                try await stage.send(Self.form, of: found, button: ("pick-\(room)-1", "Room/b")))
            #expect(
                HTMLForm(picked, sentTo: Self.form)?.fields.contains { $0.0 == "text-\(room)-1" && $0.1 == "Room/b" }
                    == true)
            let json = String(buffer: try await stage.get("record/names?zone=Notes&q=Ru").body)
            #expect(json == #"{"names":[{"recordName":"Ruin","recordType":"Note"}]}"#)
        }
    }

    @Test func aFieldHasAPlaceInTheForm() async throws {
        try await EditStage.run { stage in
            try await stage.save("milk", ["title": .string("Milk"), "rank": .int64(1)])
            let there = try stage.location(try await stage.get("record/edit?zone=Notes&name=milk&field=rank"))
            let parts = there.split(separator: "#")
            let page = try await stage.page(String(try #require(parts.first)))
            let place = "f\(try number("rank", page))"
            #expect(parts.count == 2 && String(parts[1]) == place && page.contains("id=\"\(place)\""))
            // A field that the type no longer has leads to the form.
            #expect(try await stage.page("record/edit?zone=Notes&name=milk&field=gone").contains("data-editor"))
        }
    }

    @Test func headsOfATableTellHowTheirFieldIsEdited() async throws {
        try await EditStage.run { stage in
            let fields: [Name: FieldValue] = [
                "title": .string("Milk"), "rank": .int64(1), "tags": .list([.string("a")], of: .string),
            ]
            try await stage.save("milk", fields)
            for page in ["query?type=Note&zone=Notes", "fetch?zone=Notes&names=milk&as=table"] {
                let table = try await stage.page(page)
                #expect(
                    table.contains("data-edit=\"short\" data-name=\"title\"")
                        && table.contains("data-edit=\"short\" data-name=\"rank\""), "\(page)")
                #expect(
                    table.contains("data-edit=\"long\" data-name=\"tags\"")
                        && !table.contains("data-name=\"modified\""), "\(page)")
                #expect(
                    table.contains("data-cells")
                        && table.contains("data-alike=\"\(EditStage.there)/query?zone=Notes&amp;type=Note\""), "\(page)"
                )
            }
            #expect(try await stage.page("fetch?zone=Notes&names=milk").contains("<table class=\"cells\" data-cells>"))
            #expect(try await stage.page("changes?zone=Notes").contains("<table class=\"cells\" data-cells>"))
        }
    }

    @Test func aDuplicateIsARecordOfItsOwn() async throws {
        try await EditStage.run { stage in
            try await stage.save("first", ["title": .string("same\r\ntext"), "rank": .int64(3)])
            let page = try await stage.page("record/duplicate?zone=Notes&name=first")
            #expect(page.contains("This is a copy of first, not saved yet."))
            _ = try stage.location(try await stage.send(Self.form, of: page, ["name": "second"]))
            #expect(try await stage.values("second") == ["title": .string("same\r\ntext"), "rank": .int64(3)])
            #expect(try await stage.values("first")["rank"] == .int64(3))
        }
    }

    @Test func aRecordThatWasDeletedMeanwhileCanBeSavedAnew() async throws {
        try await EditStage.run { stage in
            try await stage.save("gone", ["title": .string("before"), "rank": .int64(1)])
            let page = try await stage.page("record/edit?zone=Notes&name=gone")
            _ = try await stage.database().modify(
                ModifyRequest([RecordOperation(.forceDelete, recordName: "gone")], zoneID: EditStage.notes))
            let late = try await stage.send(Self.form, of: page, ["text-\(try number("title", page))-1": "after"])
            let refused = EditStage.text(late)
            #expect(refused.contains("Save as a new record"))
            _ = try stage.location(try await stage.send(Self.form, of: refused, button: ("do", "anew")))
            #expect(try await stage.values("gone") == ["title": .string("after"), "rank": .int64(1)])
        }
    }

    @Test func recordsOfTheSystemAreNotEdited() async throws {
        try await EditStage.run { stage in
            #expect(try await stage.get("record/new?type=Users&zone=Notes").status == .forbidden)
            #expect(try await stage.get("record/edit?zone=Notes&name=nobody").status == .notFound)
            let empty = try await stage.post("record/save?zone=Notes", "")
            #expect(empty.status == .badRequest)
        }
    }
}
