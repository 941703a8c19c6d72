internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records
internal import Traffic

/// `/metrics`: the numbers of the web services in the text format of Prometheus (docs/requests.md).
enum Metrics {
    static func response(_ log: RequestLog, stores: [StoreHealth]) -> Response {
        var text = log.telemetry.prometheusText
        text += "# HELP skylight_clients Clients that were seen of late, one for each user and database.\n# TYPE skylight_clients gauge\n"
        text += "skylight_clients \(log.clients.clients.count)\n"
        text += "# HELP skylight_store_read_only Whether a store that is open takes no more saves.\n# TYPE skylight_store_read_only gauge\n"
        for store in stores {
            // Letters, digits, dots, hyphens and underscores: nothing that would need escaping.
            text += "skylight_store_read_only{container=\"\(store.container)\",environment=\"\(store.environment.rawValue)\"} "
            text += store.readOnlyBecause == nil ? "0\n" : "1\n"
        }
        return .content(text.utf8, type: "text/plain; version=0.0.4; charset=utf-8")
    }
}
