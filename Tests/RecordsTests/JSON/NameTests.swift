import Records
import Testing

@Suite struct NameTests {
    @Test func comparesByBytes() {
        let composed: Name = "\u{e9}"
        let decomposed: Name = "e\u{301}"
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        #expect(("Z" as Name) < "a")
        #expect(("a" as Name) < "aa")
        // Above the surrogates, the UTF-16 order differs from the byte order.
        #expect(("\u{FFFD}" as Name) < "\u{10000}")
    }

    @Test func hasPrefixByBytes() {
        #expect(("e\u{301}t" as Name).hasPrefix("e"))
        #expect(!("\u{e9}t" as Name).hasPrefix("e"))
    }
}
