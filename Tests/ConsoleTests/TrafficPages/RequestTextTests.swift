import RecordStore
import Records
import TestSupport
import Testing

@testable import Console
@testable import TrafficPages

/// How pages display bodies and tokens.
@Suite struct RequestTextTests {
    @Test func everyBeginningOfAJSONTextCanBeRead() throws {
        let text = #"{"a":[1,2,{"b":"x,\"}y","c":[]}],"d":{"e":null,"f":[{},[3,4]]},"g":"é\\"}"#
        let bytes = Array(text.utf8)
        var read = 0
        for length in 0...bytes.count {
            guard let completed = TruncatedJSON.completed(Array(bytes.prefix(length))) else { continue }
            _ = try JSONReader.value(of: completed)
            read += 1
        }
        #expect(read > bytes.count - 12)
        #expect(
            TruncatedJSON.completed(Array(#"{"a":1,"b":"#.utf8)).map { String(decoding: $0, as: UTF8.self) }
                == #"{"a":1}"#)
        #expect(TruncatedJSON.completed(Array("]]".utf8)) == nil && TruncatedJSON.completed([]) == nil)
        #expect(TruncatedJSON.completed(Array(repeating: UInt8(ascii: "["), count: 1000)) == nil)
    }

    /// Each side of a comparison is its complete text.
    @Test func aComparisonHoldsBothTexts() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<300 {
            let before = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                String(Int.random(in: 0...4, using: &random))
            }
            let after = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                String(Int.random(in: 0...4, using: &random))
            }
            let comparison = AnswerComparison(before.joined(separator: "\n"), after.joined(separator: "\n"))
            #expect(!comparison.isShortened || comparison.differences > 0)
            let left = comparison.lines.filter { $0.kind != "added" }.map(\.before)
            let right = comparison.lines.filter { $0.kind != "removed" }.map(\.after)
            // An empty text is one empty line.
            #expect(left == (before.isEmpty ? [""] : before) && right == (after.isEmpty ? [""] : after))
            #expect((comparison.differences == 0) == (before == after))
        }
    }

    @Test func onlyValuesAreHidden() throws {
        let body = try JSONReader.value(
            of:
                #"{"records":[{"recordName":"n","recordType":"Note","fields":{"a":{"value":[1,2],"type":"INT64_LIST"},"b":7,"c":{"value":null}}}],"query":{"filterBy":[{"fieldName":"a","comparator":"EQUALS","fieldValue":{"value":{"recordName":"secret"}}}],"sortBy":[{"fieldName":"d","relativeLocation":{"latitude":1.0,"longitude":2.0}}]}}"#
        )
        var hidden = HiddenValues()
        let text = RecordJSON.laidOut(hidden.hide(in: body))
        #expect(hidden.count == 4)
        for kept in ["\"recordName\": \"n\"", "INT64_LIST", "\"fieldName\": \"a\"", "EQUALS", "\"value\": null"] {
            #expect(text.contains(kept))
        }
        for gone in ["secret", "1.0", "[1, 2]", "7"] { #expect(!text.contains(gone)) }
    }

    @Test func valuesOfKeysAreHidden() throws {
        let body = try JSONReader.value(
            of:
                #"{"operations":[{"operationType":"set","key":"k1","value":{"type":"STRING","value":"secret"}},{"operationType":"set","key":"k2","value":{"type":"DICTIONARY","value":{"value":{"type":"INT64","value":77},"hiddenName":{"type":"BOOL","value":true}}}},{"operationType":"set","key":"k3","value":"bare"},{"operationType":"remove","key":"k4"}],"changes":[{"key":"k5","value":{"type":"ARRAY","value":[{"type":"DOUBLE","value":1.5}]},"size":16,"modified":5},{"key":"k6","removed":true}]}"#
        )
        var hidden = HiddenValues()
        let text = RecordJSON.laidOut(hidden.hide(in: body))
        #expect(hidden.count == 4)
        for kept in [
            "k1", "k2", "k3", "k4", "k5", "k6", "STRING", "DICTIONARY", "ARRAY", "\"size\": 16", "\"removed\": true",
        ] {
            #expect(text.contains(kept), "\(kept)")
        }
        for gone in ["secret", "77", "hiddenName", "bare", "1.5"] { #expect(!text.contains(gone), "\(gone)") }
    }

    private func token(_ position: Int64, _ progress: TokenExplanation.Progress = .complete) -> TokenExplanation {
        TokenExplanation(
            subject: .zone(nil), scope: .private, userRecordName: nil, position: position, moment: nil,
            progress: progress, validity: .good, changesAfter: 0)
    }

    @Test func aPullCoversWhatLiesBetweenItsTokens() {
        let whole = PulledRange(sent: nil, given: token(10))
        #expect(whole.contains(1) && whole.contains(10) && !whole.contains(11))
        let page = PulledRange(sent: token(4, .pull(since: 2)), given: token(8, .pull(since: 2)))
        #expect(!page.contains(4) && page.contains(5) && page.contains(8) && !page.contains(9))
        // Newest first: the pages descend, and the last one has a token for the position where the pull began.
        let first = PulledRange(sent: nil, given: token(8, .reversePull))
        #expect(first.contains(8) && first.contains(10) && !first.contains(7))
        let second = PulledRange(sent: token(8, .reversePull), given: token(5, .reversePull))
        #expect(second.contains(5) && second.contains(7) && !second.contains(8) && !second.contains(4))
        let last = PulledRange(sent: token(5, .reversePull), given: token(10))
        #expect(last.contains(1) && last.contains(4) && !last.contains(5))
    }
}
