internal import JSON
internal import Records

extension FaultInjectingDatabase {
    /// Prefix of markers that follow an empty page. Engine markers are base64 and never contain this character.
    private static var emptyPageMark: String { "~" }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        let reach = request.area.reach
        try checkBusy(reach)
        var request = request
        if shapes(.pagesOfOne, reach) { request.limit.records = 1 }
        let isAfterEmptyPage = request.continuationMarker?.hasPrefix(Self.emptyPageMark) == true
        if isAfterEmptyPage, let marker = request.continuationMarker?.dropFirst(Self.emptyPageMark.count) {
            request.continuationMarker = marker.isEmpty ? nil : String(marker)
        }
        if shapes(.emptyPages, reach), !isAfterEmptyPage {
            // An invalid query must fail on its empty page too.
            let plan = try await base.query(request).plan
            return QueryPage(records: [], continuationMarker: Self.emptyPageMark + (request.continuationMarker ?? ""), plan: plan)
        }
        guard injects(.laggingIndex, reach) else { return try await base.query(request) }
        return try await laggingPage(request)
    }
}

extension QueryRequest.Area {
    fileprivate var reach: FaultArea.Reach {
        switch self {
        case .zone(let zoneID): .zone(zoneID)
        case .allZones: .allZones
        }
    }
}
