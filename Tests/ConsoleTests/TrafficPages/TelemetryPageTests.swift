import RecordStore
import Records
import RequestLog
import Testing

@testable import TrafficPages

/// The page Telemetry, and its charts.
@Suite struct TelemetryPageTests {
    @Test func numbersAreThoseOfTheRequests() async throws {
        try await RequestStage.with { stage in
            #expect(try await stage.page("telemetry").contains("No requests yet"))
            for number in 0..<20 {
                var request = stage.request("records/query")
                request.milliseconds = Double(number)
                if number < 3 { request.status = 400 }
                stage.note(request)
            }
            var modify = stage.request("records/modify")
            modify.itemErrors = [ServedRequest.ItemError(name: "a", code: .conflict, reason: "no")]
            stage.note(modify)
            stage.note(stage.request("/database/1/nonsense"))
            try await stage.save("one")
            let page = try await stage.page("telemetry")
            #expect(
                page.contains("<dt>requests</dt><dd>22<") && page.contains("<dt>failed</dt><dd>3 <small>13.6 %</small>")
            )
            #expect(page.contains("<dt>items that failed</dt><dd>1 "))
            #expect(page.contains("Requests in each minute of the last hour: ") && page.contains(", 3 failed in total"))
            #expect(page.contains("requests?operation=records%2Fquery&amp;errors=1") && page.contains(">no service<"))
            let stored = try await stage.database.require(.measureStorage).storage(limit: 10)
            let bytes = try #require(stored.zones.first?.total.bytes)
            #expect(bytes > 0 && page.contains("aria-label=\"\(bytes) bytes of fields\""))
            #expect(page.contains(">\(bytes) bytes</td>") && page.contains("all types"))
            // Values without a name in the form have no link.
            var unknown = stage.request("/database/1/nonsense")
            unknown.status = 404
            for bytes in [Int.max, Int.max] {
                unknown.bytesIn = bytes
                stage.log.note(unknown)
            }
            let later = try await stage.page("telemetry")
            #expect(later.contains("<span class=\"bad\">2</span>") && !later.contains("operation=unknown"))
        }
    }

    @Test func barsStayInTheirChart() {
        let chart = BarChart([(0, 0), (1000, 1), (1, 1), (500, 500)], label: "")
        #expect(chart.width == 40 && chart.bars.map(\.x) == [10, 20, 30])
        for bar in chart.bars {
            #expect(
                bar.y >= 0 && bar.y + bar.height == BarChart.height && bar.badHeight <= bar.height
                    && bar.badY + bar.badHeight == BarChart.height)
            // Non-zero values are always visible.
            #expect(bar.height >= 2 && (!bar.hasBad || bar.badHeight >= 2))
        }
        #expect(BarChart([(0, 0)], label: "").bars.isEmpty)
    }
}
