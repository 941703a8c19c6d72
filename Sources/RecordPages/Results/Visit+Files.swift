internal import AssetStore
internal import Console
internal import Records

extension Visit {
    /// The download addresses of assets for use outside the console, valid for at least an hour; `nil` if none of the records has assets,
    /// or the engine keeps no files of this container.
    func addresses(in records: [StoredRecord], origin: String) async throws -> AssetAddress? {
        guard assets.keepsFiles(of: place.address.container), records.contains(where: { $0.fields.mayHoldAssets }) else { return nil }
        let links = try await assets.links(place.address.container, place.address.environment, origin: origin)
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}
