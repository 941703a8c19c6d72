internal import Records

extension Telemetry {
    /// The statistics in the Prometheus text format (Prometheus documentation, "Exposition formats", version 0.0.4).
    public var prometheusText: String {
        let operations = operations.sorted { $0.key < $1.key }
        var text = PrometheusText()
        text.metric("skylight_requests_total", "counter", "Requests to the web services, by HTTP status; 0 if the connection ended before the response.")
        for (name, operation) in operations {
            for (status, count) in operation.statuses.sorted(by: { $0.key < $1.key }) {
                text.sample("skylight_requests_total", [("operation", name), ("status", String(status))], String(count))
            }
        }
        text.metric("skylight_item_errors_total", "counter", "Failed items of requests, in responses with status 200.")
        for (name, operation) in operations {
            for (code, count) in operation.itemErrors.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                text.sample("skylight_item_errors_total", [("operation", name), ("code", code.rawValue)], String(count))
            }
        }
        text.metric("skylight_request_duration_seconds", "histogram", "Time from a request's head to its response, without streams.")
        for (name, operation) in operations where operation.latency.count > 0 { text.histogram("skylight_request_duration_seconds", name, operation.latency) }
        let sums: [(metric: String, help: String, value: (Operation) -> Int64)] = [
            ("skylight_request_bytes_total", "Bytes of request bodies.", \.bytesIn),
            ("skylight_response_bytes_total", "Bytes of response bodies, before compression.", \.bytesOut),
            ("skylight_records_returned_total", "Records and changes in responses.", \.records),
        ]
        for (metric, help, value) in sums {
            text.metric(metric, "counter", help)
            for (name, operation) in operations { text.sample(metric, [("operation", name)], String(value(operation))) }
        }
        return text.text
    }
}
