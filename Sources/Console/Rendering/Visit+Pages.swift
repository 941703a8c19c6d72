internal import AssetStore
internal import RecordStore
internal import Records

extension Visit {
    /// True if the place has the page.
    func offers(_ tab: Tab) -> Bool {
        switch tab {
        case .objects: return hasObjects
        case .keyvalues: return database.can(.keepKeyValues)
        case .snapshots: return assets.keepsFiles(of: place.address.container) && database.can(.listRecords)
        case .mirror: return connection != nil
        case .unsent: return origin != nil
        case .sharing: return place.hasFeed && database.can(.listShares)
        case .types, .indexes, .roles, .deploy, .history, .schema: return schema != nil && database.can(.showSchema)
        case .reset: return canEditSchema && offers(.types)
        case .subscriptions: return database.can(.keepSubscriptions)
        case .notifications: return database.can(.fireSubscriptions)
        case .token: return database.can(.explainTokens)
        case .check: return database.can(.listRecords)
        case .advice: return database.can(.keepQueryStatistics)
        case .home: return false
        case .query, .fetch, .changes, .importing, .zones, .requests, .telemetry, .sync, .clients, .errors, .signature, .rehearsals, .keys, .users: return true
        }
    }
}
