internal import AssetStore
internal import Records

extension Visit {
    /// Where assets can be fetched from outside of the pages; `nil` when none of these records has any. Good for an hour at least.
    func addresses(in records: [StoredRecord], origin: String) async throws -> AssetAddress? {
        guard records.contains(where: { $0.fields.mayHoldAssets }) else { return nil }
        let links = try await assets.links(place.address.container, place.address.environment, origin: origin)
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}
