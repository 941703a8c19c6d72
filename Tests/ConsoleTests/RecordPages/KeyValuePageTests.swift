import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console
@testable import RecordPages

/// The page Key-value store.
@Suite struct KeyValuePageTests {
    private static func values(_ stage: RequestStage) async throws -> [Name: PropertyValue] {
        let changes = try await stage.database.require(.keepKeyValues).keyValues(since: nil).changes
        return Dictionary(uniqueKeysWithValues: changes.compactMap { change in change.value.map { (change.key, $0) } })
    }

    @Test func aKeyIsSetChangedAndRemoved() async throws {
        try await RequestStage.with { stage in
            let empty = try await stage.page("keyvalues")
            #expect(
                empty.contains("No keys") && empty.contains("0 of 1,024 keys") && empty.contains("0 bytes of 1 MB")
                    && empty.contains("Set a key"))
            let made = try await stage.post("keyvalues", "key=font+size&kind=DOUBLE&value=1.5")
            #expect(made.status == .seeOther && made.headers[.location]?.contains("notice=key-value-set") == true)
            #expect(try await Self.values(stage) == ["font size": .double(1.5)])
            let list = try await stage.page("keyvalues")
            #expect(
                list.contains(">font size</a>") && list.contains(">double</td>") && list.contains("1 of 1,024 keys")
                    && list.contains("8 bytes of 1 MB"))
            // The form has the key, its kind and its value again.
            let page = try await stage.page("keyvalues?key=font+size")
            #expect(
                page.contains("Change the value") && page.contains("name=\"saved\"")
                    && page.contains("\n1.5</textarea>"))
            #expect(page.contains("value=\"DOUBLE\" selected"))
            _ = try await stage.post("keyvalues", "key=font+size&saved=1&kind=STRING&value=a%0D%0Ab")
            #expect(try await Self.values(stage) == ["font size": .string("a\nb")])
            #expect(try await stage.page("keyvalues/remove?key=font+size").contains("Delete the key font size?"))
            let removed = try await stage.post("keyvalues/remove", "key=font+size")
            #expect(removed.status == .seeOther)
            #expect(try await Self.values(stage).isEmpty)
        }
    }

    @Test func itsTokenIsNamedOnThePageTokens() async throws {
        try await RequestStage.with { stage in
            let token = try await stage.database.require(.keepKeyValues).keyValues(since: nil).syncToken
            let page = try await stage.page("token?token=\(token.text)")
            #expect(
                page.contains("This token is of a key-value store")
                    && !page.contains("No store of this server issued this token"))
        }
    }

    @Test func theLargestValueGoesThroughTheForm() async throws {
        try await RequestStage.with { stage in
            let count = (KeyValueLimits.bytes - 3) / 3
            let made = try await stage.post(
                "keyvalues", "key=k&kind=STRING&value=" + String(repeating: "%E3%81%82", count: count))
            #expect(made.status == .seeOther)
            #expect(try await Self.values(stage) == ["k": .string(String(repeating: "あ", count: count))])
        }
    }

    /// Browsers send LF, CR and CR LF all as CR LF.
    @Test func linesInKeysAreKept() async throws {
        try await RequestStage.with { stage in
            let keys: [Name] = ["a\nb", "c\rd", "e"]
            _ = try await stage.database.require(.keepKeyValues).modifyKeyValues(
                keys.map { .set($0, .string($0 == "e" ? "x\r\ny" : "x")) })
            let page = try await stage.page("keyvalues")
            #expect(page.contains("/keyvalues?key=a%0Ab\"") && page.contains("/keyvalues/remove?key=a%0Ab\""))
            // No form has a text that it would send as another one.
            #expect(
                !page.contains("%0D") && !page.contains("/keyvalues?key=e\"")
                    && page.contains("/keyvalues/remove?key=e\""))
            _ = try await stage.post("keyvalues", "key=a%0D%0Ab&saved=1&kind=STRING&value=z")
            #expect(
                try await Self.values(stage) == ["a\nb": .string("z"), "c\rd": .string("x"), "e": .string("x\r\ny")])
            _ = try await stage.post("keyvalues/remove", "key=a%0D%0Ab")
            #expect(try await Self.values(stage) == ["c\rd": .string("x"), "e": .string("x\r\ny")])
        }
    }

    /// Each kind's text in the form is read as the same value.
    @Test func everyKindGoesThroughTheForm() async throws {
        let all: [PropertyValue] = [
            .string("<b>\"x\"</b>"), .bytes([1, 2, 3]), .bool(false), .integer(-5), .double(0.1),
            .date(Timestamp(milliseconds: 1_700_000_000_123)),
            .array([.integer(1), .dictionary(["a": .bytes([9])])]),
            .dictionary(["when": .date(Timestamp(milliseconds: 0)), "list": .array([])]),
        ]
        #expect(Set(all.map(\.kind)) == Set(PropertyValue.Kind.allCases))
        for value in all {
            let form = try #require(
                KeyValueForm(KeyValueChange("k", value, modified: Timestamp(milliseconds: 0), position: 1)))
            #expect(try form.operation() == .set("k", value), "\(value.kind)")
        }
        try await RequestStage.with { stage in
            let operations = all.enumerated().map { KeyValueOperation.set(Name("k\($0.offset)"), $0.element) }
            _ = try await stage.database.require(.keepKeyValues).modifyKeyValues(operations)
            let page = try await stage.page("keyvalues")
            for kind in PropertyValue.Kind.allCases { #expect(page.contains(">\(kind.words)</td>"), "\(kind)") }
            #expect(!page.contains("<b>\"x\"") && page.contains("3 bytes"))
        }
    }

    @Test func aRefusedValueStaysInTheForm() async throws {
        try await RequestStage.with { stage in
            let refused: [(form: String, reason: String)] = [
                ("key=k&kind=INT64&value=five", "a value of the kind integer is a whole number"),
                ("key=k&kind=BOOL&value=maybe", "is true or false"),
                ("key=k&kind=BYTES&value=%3F", "is base64"), ("key=k&kind=TIMESTAMP&value=never", "is a time such as"),
                ("key=k&kind=ARRAY&value=%5B1", "is JSON"), ("key=k&kind=ARRAY&value=%5B1%5D", "to be an object"),
                ("key=&kind=STRING&value=x", "A key is empty"),
                (
                    "key=\(String(repeating: "k", count: 65))&kind=STRING&value=x",
                    "65 bytes of UTF-8, and the limit is 64"
                ),
                ("key=k&kind=DOUBLE&value=nan", "not finite"),
            ]
            for (form, reason) in refused {
                let answer = try await stage.post("keyvalues", form)
                let page = String(buffer: answer.body)
                #expect(answer.status == .ok && page.contains(reason), "\(form): \(page.contains("role=\"alert\""))")
            }
            #expect(
                String(buffer: try await stage.post("keyvalues", "key=kept&kind=INT64&value=five").body).contains(
                    "value=\"kept\""))
            #expect(try await Self.values(stage).isEmpty)
        }
    }

    /// The page shows the store of the user of the place, also from the shared database.
    @Test func eachUserHasAStore() async throws {
        try await RequestStage.with { stage in
            _ = try await stage.database.require(.keepKeyValues).modifyKeyValues([.set("mine", .bool(true))])
            #expect(try await !stage.page("keyvalues?user=grace").contains(">mine</a>"))
            #expect(
                try await stage.page("users/user?name=grace").contains(
                    "/private/keyvalues?user=grace\">Key-value store</a>"))
            let shared = RequestStage.there.replacing("private", with: "shared")
            #expect(try await stage.page("keyvalues", in: shared).contains(">mine</a>"))
            let query = try await stage.page("query", in: RequestStage.there.replacing("private", with: "public"))
            #expect(!query.contains("/keyvalues"))
            #expect(try await stage.page("query").contains("/keyvalues"))
        }
    }

    @Test func longValuesAndManyKeysHavePages() async throws {
        try await RequestStage.with { stage in
            let keys = (0..<201).map { KeyValueOperation.set(Name("k\(1000 + $0)"), .integer(1)) }
            _ = try await stage.database.require(.keepKeyValues).modifyKeyValues(
                keys + [.set("a", .string(String(repeating: "x", count: 200_000)))])
            let first = try await stage.page("keyvalues")
            #expect(
                first.contains("202 keys") && first.contains(">k1198</a>") && !first.contains(">k1199</a>")
                    && first.contains("from=200"))
            // A value above the limit of the form is shown in part, and has no form.
            #expect(first.contains("xxx…") && first.contains("200,000") && !first.contains("/keyvalues?key=a\""))
            #expect(!first.contains(String(repeating: "x", count: 200)))
            #expect(try await stage.page("keyvalues?from=200").contains(">k1200</a>"))
            #expect(try await stage.page("keyvalues?key=a").contains("Set a key"))
        }
    }
}
