import Foundation
import RecordStore
import Records
import Testing

@testable import Console
@testable import RecordPages

/// A query in words, in Swift and as a form must mean the same.
@Suite struct QueryCodeTests {
    private static let note = RecordType(
        name: "Note",
        fields: [
            "title": FieldDefinition(type: .string), "rank": FieldDefinition(type: .int64),
            "weight": FieldDefinition(type: .double),
            "at": FieldDefinition(type: .timestamp), "place": FieldDefinition(type: .location),
            "tags": FieldDefinition(type: .list(.string)),
            "link": FieldDefinition(type: .reference), "raw": FieldDefinition(type: .bytes),
        ])

    private func swift(
        _ filters: [Query.Filter], sorts: [Query.Sort] = [], zone: Name? = nil, scope: DatabaseScope = .private,
        keys: [Name]? = nil
    ) throws -> String {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let zoneID: ZoneID? = zone.map { ZoneID(zoneName: $0) } ?? (scope == .public ? .default : nil)
        return SwiftQueryCode(
            Query(recordType: "Note", filters: filters, sorts: sorts), type: Self.note,
            in: DatabaseAddress(container: container, environment: .development, scope: scope), zoneID: zoneID,
            keys: keys, limit: 50
        ).text
    }

    @Test func aWholeQueryInSwift() throws {
        let text = try swift(
            [
                Query.Filter("title", .beginsWith, FieldInput(.string("a \"b\" \\(c)\n"))),
                Query.Filter("at", .greaterThan, FieldInput(.timestamp(Timestamp(milliseconds: 1_500)))),
                Query.Filter("link", .equals, FieldInput(.reference(Reference(recordName: "x")))),
            ], sorts: [Query.Sort("modifiedTimestamp", ascending: false)], zone: "Notes", keys: ["title"])
        #expect(
            text == #"""
                import CloudKit

                let database = CKContainer(identifier: "iCloud.com.example.App").privateCloudDatabase
                let zoneID = CKRecordZone.ID(zoneName: "Notes")
                let predicate = NSPredicate(
                    format: "%K BEGINSWITH %@ AND %K > %@ AND %K == %@",
                    argumentArray: [
                        "title",
                        "a \"b\" \\(c)\n",
                        "at",
                        Date(timeIntervalSince1970: 1.500),
                        "link",
                        CKRecord.Reference(recordID: CKRecord.ID(recordName: "x", zoneID: zoneID), action: .none),
                    ])
                let query = CKQuery(recordType: "Note", predicate: predicate)
                query.sortDescriptors = [
                    NSSortDescriptor(key: "modificationDate", ascending: false),
                ]
                let (matchResults, queryCursor) = try await database.records(
                    matching: query, inZoneWith: zoneID, desiredKeys: ["title"], resultsLimit: 50)
                for (recordID, result) in matchResults { print(recordID.recordName, try result.get()) }
                // The next page: database.records(continuingMatchFrom: queryCursor)
                print(queryCursor == nil ? "Nothing remains" : "There is more")
                """#)
    }

    @Test(arguments: [
        (Records.Comparator.equals, "rank", FieldInput(.int64(7)), "%K == %@", "7"),
        (.notEquals, "weight", FieldInput(.double(1)), "%K != %@", "1.0"),
        (.notIn, "rank", FieldInput(.list([.int64(1), .int64(2)], of: .int64)), "NOT (%K IN %@)", "[1, 2]"),
        (.listContains, "tags", FieldInput(.string("red")), "%K CONTAINS %@", "\"red\""),
        (
            .listContainsAny, "tags", FieldInput(.list([.string("a"), .string("b")], of: .string)), "ANY %K IN %@",
            "[\"a\", \"b\"]"
        ),
        (
            .listContainsAll, "tags", FieldInput(.list([.string("a"), .string("b")], of: .string)),
            "%K CONTAINS %@ AND %K CONTAINS %@", "\"b\""
        ),
        (.notBeginsWith, "title", FieldInput(.string("x")), "NOT (%K BEGINSWITH %@)", "\"x\""),
        (.equals, "raw", FieldInput(.bytes([1, 2])), "%K == %@", "Data(base64Encoded: \"AQI=\")!"),
        (
            .lessThanOrEquals, "at", FieldInput.untagged(.int64(2000), isEncrypted: false), "%K <= %@",
            "Date(timeIntervalSince1970: 2)"
        ),
        (
            .near, "place", FieldInput(.location(Location(latitude: 1, longitude: 2))),
            "distanceToLocation:fromLocation:(%K, %@) < %@", "CLLocation(latitude: 1.0, longitude: 2.0)"
        ),
    ])
    func comparatorsInSwift(
        comparator: Records.Comparator, field: Name, value: FieldInput, format: String, literal: String
    ) throws {
        let text = try swift([Query.Filter(field, comparator, value)])
        #expect(text.contains("format: \"\(format)\""))
        #expect(text.contains("        \(literal),\n"))
        #expect(text.contains("#warning") == false)
        #expect(text.contains("import CoreLocation") == (comparator == .near))
    }

    @Test func queriesThatSwiftCannotExpressAreExplained() throws {
        for comparator: Records.Comparator in [.listMemberBeginsWith, .notListContainsAll, .containsAnyTokens] {
            let list = FieldInput(comparator.takesList ? .list([.string("a")], of: .string) : .string("a"))
            let text = try swift([Query.Filter("tags", comparator, list)])
            #expect(text.contains("#warning(\"CloudKit documents no predicate for \(comparator.rawValue)"))
            #expect(text.contains("NSPredicate(value: true)"))
        }
        #expect(try swift([], scope: .shared).contains("#warning(\"A shared database"))
        #expect(try swift([]).contains("NSPredicate(value: true)"))
        #expect(try swift([], scope: .public).contains("publicCloudDatabase"))
    }

    /// Saving a record with its unchanged sample keeps its values.
    @Test func samplesOfASaveLeaveOutWhatALanguageCannotSay() throws {
        var place = Location(latitude: 1.5, longitude: -2)
        let here = SwiftQueryCode.stored(.location(place), referenceZone: nil)
        #expect(here == "CLLocation(latitude: 1.5, longitude: -2.0)")
        (place.altitude, place.course, place.timestamp) = (12, 0, Timestamp(milliseconds: 1500))
        #expect(
            SwiftQueryCode.stored(.location(place), referenceZone: nil)
                == "CLLocation(coordinate: CLLocationCoordinate2D(latitude: 1.5, longitude: -2.0), altitude: 12.0, horizontalAccuracy: 0.0, "
                + "verticalAccuracy: -1.0, course: 0.0, speed: -1.0, timestamp: Date(timeIntervalSince1970: 1.500))")
        let signature = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "_user", deviceID: "Mac")
        let fields: [(Name, FieldValue)] = [
            ("exact", .int64(1 << 53)), ("long", .int64(9_007_199_254_740_993)),
            ("longs", .list([.int64(1), .int64(.min)], of: .int64)),
            ("strict", .reference(Reference(recordName: "x", action: .validate))),
            ("loose", .reference(Reference(recordName: "y"))),
        ]
        let record = StoredRecord(
            recordID: RecordID(recordName: "one", zoneID: ZoneID(zoneName: "Notes")), recordType: "Note",
            recordChangeTag: "1a", created: signature,
            modified: signature, fields: FieldsText(fields.map { Field(name: $0.0, value: $0.1) }))
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let there = Place(
            address: DatabaseAddress(container: container, environment: .development, scope: .private), user: nil,
            zone: .unspecified)
        let writer = CodeWriter(there, zoneID: record.recordID.zoneID, server: "http://localhost:9090")
        let samples = try CodePanel.saving(record, writer: writer).samples
        #expect(samples.map(\.address) == [nil, nil, writer.server, writer.server])
        for swift in samples.prefix(2) {
            #expect(
                swift.before.contains("record[\"long\"] = 9007199254740993")
                    && swift.before.contains("record[\"loose\"] = "))
            #expect(
                !swift.before.contains("record[\"strict\"]")
                    && swift.before.contains("// strict has the action VALIDATE"))
        }
        #expect(samples[2].after.contains("// Not exact in JavaScript, and not changed: long, longs\n"))
        #expect(samples[2].after.contains("9007199254740992") && !samples[2].after.contains("9007199254740993"))
        #expect(samples[3].after.contains("9007199254740993") && samples[3].after.contains("VALIDATE"))
    }

    @Test func hiddenCharactersAreWrittenOut() {
        #expect(CodeWriter.quoted("a\u{202E}b\u{0}") == "\"a\\u{202e}b\\u{0}\"")
        #expect(CodeWriter.quoted("é\"\\") == "\"é\\\"\\\\\"")
    }

    /// A query from a form converts back to an equivalent form.
    @Test(arguments: [
        "filter1=title&is1=EQUALS&value1=%22%22", "filter1=title&is1=IN&value1=a,%22b,c%22",
        "filter1=rank&is1=GREATER_THAN&value1=-7",
        "filter1=at&is1=LESS_THAN&value1=2026-11-20+18:00:00.123",
        "filter1=place&is1=NEAR&value1=47.45,-122.31&within1=500.5&sort1=place&from1=1,2",
        "filter1=tags&is1=LIST_CONTAINS_ALL&value1=red,green&sort1=recordName&order1=descending",
        "filter1=link&is1=EQUALS&value1=a/b",
        "filter1=recordName&is1=BEGINS_WITH&value1=x", "filter1=raw&is1=EQUALS&value1=AQI%3D",
        "filter1=weight&is1=IN&value1=1,2.5",
    ])
    func aQueryIsAskedAgain(question: String) throws {
        let plan = CheckedQuery(QueryForm(FormFields(encoded: "type=Note&\(question)".utf8)), of: Self.note)
        #expect(plan.canRun)
        let again = CheckedQuery(try #require(QueryForm(plan.query, of: Self.note)), of: Self.note)
        #expect(again.canRun && again.query == plan.query)
    }

    @Test func aQueryInWords() {
        let query = Query(
            recordType: "Note",
            filters: [
                Query.Filter("title", .beginsWith, FieldInput(.string("Mi"))),
                Query.Filter("rank", .lessThan, FieldInput(.int64(7))),
                Query.Filter("place", .near, FieldInput(.location(Location(latitude: 1, longitude: 2))), distance: 500),
            ], sorts: [Query.Sort("at", ascending: false), Query.Sort("title")])
        #expect(
            QuerySentence.text(of: query, type: Self.note)
                == "Note where title begins with Mi and rank is less than 7 and place is within 500 metres of 1.0, 2.0, "
                + "sorted by at newest first, then by title A to Z")
        #expect(
            QuerySentence.text(of: Query(recordType: "Gone", sorts: [Query.Sort("x")]), type: nil)
                == "Gone, sorted by x ascending")
    }
}
