import Records
import RequestLog
import Testing

/// The metrics add up, and their text is valid for Prometheus.
@Suite("Telemetry") struct TelemetryTests {
    @Test("Percentiles lie within the step that holds them and never beyond the longest")
    func percentiles() throws {
        var latency = LatencyHistogram()
        #expect(latency.percentile(0.5) == nil)
        for number in 1...1000 { latency.note(Double(number) / 10) }
        #expect(latency.count == 1000 && latency.longest == 100 && abs(latency.sum - 50_050) < 0.001)
        let median = try #require(latency.percentile(0.5))
        #expect(abs(median - 50) < 1)
        let high = try #require(latency.percentile(0.99))
        #expect(high > 50 && high <= 100 && abs(high - 99) < 2)
        #expect(latency.percentile(1) == 100)
        var one = LatencyHistogram()
        one.note(20_000)
        #expect(one.percentile(0.5).map { $0 > 10_000 && $0 <= 20_000 } == true && one.percentile(1) == 20_000)
    }

    @Test("Requests are counted by operation, status, item errors and minute")
    func counting() throws {
        var telemetry = Telemetry()
        for number in 0..<10 {
            telemetry.note(
                Requests.request(String(number), at: Int64(number) * 30, operation: "records/modify") { request in
                    request.status = number == 9 ? 429 : 200
                    request.milliseconds = 4
                    request.itemErrors =
                        number == 3 ? [ServedRequest.ItemError(name: "a", code: .conflict, reason: "")] : []
                    (request.bytesIn, request.bytesOut, request.records) = (10, 20, 2)
                })
        }
        let modify = try #require(telemetry.operations["records/modify"])
        #expect(
            modify.count == 10 && modify.errors == 1 && modify.statuses == [200: 9, 429: 1]
                && modify.itemErrors == [.conflict: 1])
        #expect(modify.bytesIn == 100 && modify.bytesOut == 200 && modify.records == 20 && modify.latency.count == 10)
        #expect(telemetry.minutes.map(\.requests).reduce(0, +) == 10 && telemetry.minutes.count >= 5)
        #expect(telemetry.minutes.last?.errors == 1)
        #expect(telemetry.minutes.map(\.start) == telemetry.minutes.map(\.start).sorted())
    }

    @Test("Requests can't make telemetry grow: unknown paths are one operation, and old minutes are deleted")
    func bounds() {
        var telemetry = Telemetry()
        for number in 0..<500 {
            telemetry.note(
                Requests.request("\(number)", at: Int64(number) * 60, operation: "/database/1/nonsense\(number)"))
        }
        #expect(
            telemetry.operations.keys.sorted() == [Telemetry.unknown]
                && telemetry.minutes.count == Telemetry.minuteLimit)
        for number in 0..<500 { telemetry.note(Requests.request("\(number)", operation: "made/up\(number)")) }
        #expect(telemetry.operations.count <= 201)
    }

    @Test("Sizes beyond all measure do no harm")
    func saturation() {
        var telemetry = Telemetry()
        for number in 0..<3 {
            telemetry.note(
                Requests.request("\(number)") {
                    ($0.bytesIn, $0.bytesOut, $0.records, $0.milliseconds) = (.max, .max, .max, .infinity)
                })
        }
        #expect(
            telemetry.operations["records/query"]?.bytesIn == .max && telemetry.operations["records/query"]?.count == 3)
    }

    @Test("How long a stream lasts is not its latency")
    func streams() {
        var telemetry = Telemetry()
        telemetry.note(
            Requests.request("0", operation: "skylight/changes/follow") { request in
                request.isStream = true
                request.milliseconds = 1_000_000
            })
        #expect(telemetry.operations["skylight/changes/follow"]?.count == 1)
        #expect(telemetry.operations["skylight/changes/follow"]?.latency.count == 0)
    }

    @Test("How long a request waits for a change is not its latency")
    func waiting() {
        var telemetry = Telemetry()
        for hasWaited in [true, false] {
            telemetry.note(
                Requests.request("0", operation: "skylight/keyvalues/changes") { request in
                    request.hasWaited = hasWaited
                    request.milliseconds = hasWaited ? 55_000 : 2
                })
        }
        let operation = telemetry.operations["skylight/keyvalues/changes"]
        #expect(operation?.count == 2 && operation?.latency.count == 1 && telemetry.minutes.map(\.milliseconds) == [2])
    }

    @Test("Prometheus gets each metric once with its type, steps that only rise, and labels without quotes in them")
    func prometheus() throws {
        var telemetry = Telemetry()
        for milliseconds in [0.1, 0.3, 3, 3, 40, 99_999] {
            telemetry.note(Requests.request("a", operation: "records/query") { $0.milliseconds = milliseconds })
        }
        telemetry.note(
            Requests.request("b", operation: #"odd"\name"#) { request in
                request.status = 0
                request.itemErrors = [ServedRequest.ItemError(name: nil, code: .atomicError, reason: "")]
            })
        let text = telemetry.prometheusText
        #expect(text.hasSuffix("\n"))
        let lines = text.split(separator: "\n").map(String.init)
        var declared: Set<String> = []
        for line in lines where line.hasPrefix("# TYPE ") {
            let name = String(line.split(separator: " ")[2])
            #expect(declared.insert(name).inserted, "\(name) is declared twice")
        }
        for line in lines where !line.hasPrefix("#") {
            let match = try #require(
                try /([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\["\\n])*",?)+)\} ([0-9.e+-]+)/.wholeMatch(in: line), "\(line)")
            let name = String(match.output.1)
            #expect(
                declared.contains {
                    name == $0
                        || ["_bucket", "_sum", "_count"].contains(String(name.dropFirst($0.count)))
                            && name.hasPrefix($0)
                }, "\(name)")
        }
        let steps = lines.filter {
            $0.hasPrefix(#"skylight_request_duration_seconds_bucket{operation="records/query""#)
        }
        .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(
            steps.count == LatencyHistogram.bounds.count + 1 && steps == steps.sorted() && steps.first == 1
                && steps.last == 6)
        #expect(lines.contains(#"skylight_request_duration_seconds_bucket{operation="records/query",le="0.005"} 4"#))
        #expect(lines.contains(#"skylight_requests_total{operation="odd\"\\name",status="0"} 1"#))
        #expect(lines.contains(#"skylight_item_errors_total{operation="odd\"\\name",code="ATOMIC_ERROR"} 1"#))
    }
}

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
