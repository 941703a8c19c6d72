import Records
import RequestLog
import Testing

/// Prometheus reads bytes: a label value ends at its quotation mark, and a line at its line feed.
@Suite("Prometheus's text") struct PrometheusTextTests {
    @Test(
        "A label's value comes back as it was, whatever stands behind its marks",
        arguments: [
            "plain", "\"", "\\", "\n", "\r\n", "\"\u{301}} 1", "\\\u{301}\"", "a\n\u{301}b", "\r\n\"\u{200D}", "\\n",
            "\u{600}\"\u{FE0F}", "é\"",
        ])
    func labels(value: String) {
        var text = PrometheusText()
        text.sample("metric", [("label", value), ("other", "x")], "1")
        let bytes = Array(text.text.utf8)
        let start = Array("metric{label=\"".utf8)
        #expect(Array(bytes.prefix(start.count)) == start)
        var (read, rest) = ([UInt8](), bytes.dropFirst(start.count))
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            #expect(byte != UInt8(ascii: "\n"))
            guard byte == UInt8(ascii: "\\") else {
                read.append(byte)
                continue
            }
            let escaped = rest.popFirst()
            read.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped ?? 0)
        }
        #expect(read == Array(value.utf8))
        #expect(Array(rest) == Array(",other=\"x\"} 1\n".utf8))
    }
}
