internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension WebServices {
    /// Handles all requests below `/assets`: uploads and downloads of files.
    func assets(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        let response = try await guarded(request, context) { try await asset(request, context) }
        let isRefusedUpload = response.status != .ok && [.post, .put].contains(request.method)
        // The rest of a refused body is not read, so the connection cannot be reused.
        return isRefusedUpload ? response.endingConnection(of: context) : response
    }

    private func asset(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        guard let path = AssetPath(String(request.path)) else {
            throw RecordError(
                .notFound,
                "There is nothing at this address; expected /assets/{container}/{environment}/upload/{ticket} from assets/upload, or "
                    + "/assets/{container}/{environment}/download/{ticket}/{name} from a record")
        }
        let place = RequestAssets(assets, path.container, path.environment, for: request)
        switch path.purpose {
        case .upload(let ticket):
            try SkylightServices.check(request.method, of: "upload", allowing: .post, .put)
            return try await AssetUploads(place: place).response(to: request, ticket: ticket)
        case .download(let ticket, let fileName):
            try SkylightServices.check(request.method, of: "download", allowing: .get)
            return try await AssetDownloads(place: place) { faultServices.middleware.isGone(request, in: path.container, path.environment) }
                .response(to: request, in: context, ticket: ticket, fileName: fileName)
        }
    }
}
