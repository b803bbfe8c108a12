// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Rendering without draws (WEFT_QUEUE=graphics): attachments are cleared, loaded, stored and
/// resolved. Mesa's runtime turns render passes into these commands. An attachment is memory, so
/// loads and stores need no work.

#include "icd/command_buffer.h"
#include "icd/command_resolve.h"
#include "icd/image.h"
#include "icd/image_box.h"
#include "icd/image_view.h"
#include "icd/queue.h"
#include "weft_entrypoints.h"

#include "util/format/u_format.h"
#include "vk_format.h"

#include <algorithm>
#include <bit>

using namespace weft;

namespace {

constexpr uint32_t max_colors = 8; // maxColorAttachments

/// An aspect of an attachment; no memory if there is none.
struct Attachment {
   BoxPlace place;                 ///< of the view's level and first layer
   uint32_t width, height, layers; ///< layers, or slices of the depth, from the first one
   uint32_t samples;               ///< each a slice of memory
   uint32_t texel_bytes;
   enum pipe_format format;
};

struct Area {
   VkRect2D rect;
   uint32_t first_layer, layers;
};

/// The end of an aspect: all samples become one. No memory if it is not resolved.
struct Resolved {
   Attachment to;
   bool is_average;
};

struct BeginRendering : Command {
   Attachment colors[max_colors], depth, stencil;
   Resolved resolved_colors[max_colors], resolved_depth, resolved_stencil;
   Area area;
   uint32_t view_mask;
};

struct ClearAttachment : Command {
   VkImageAspectFlags aspects;
   uint32_t color; ///< number of the color attachment
   VkClearValue value;
   Area area;
   bool is_load; ///< a load operation, to which no condition applies
};

struct EndRendering : Command {};

/// Numbers from `first` on that are inside.
struct Span {
   uint32_t first, end;

   uint32_t count() const { return end - first; }
};
Span clamp_span(int64_t first, uint32_t count, uint32_t size)
{
   return {uint32_t(std::clamp<int64_t>(first, 0, size)),
           uint32_t(std::clamp<int64_t>(first + count, 0, size))};
}

BoxPlace place_in(const Attachment &a, uint32_t layer, uint32_t row, uint32_t column)
{
   return a.place.moved(layer * a.samples, row, uint64_t(column) * a.texel_bytes);
}

/// With a view mask, each of its views is a layer.
template <typename F>
void for_each_view(Area area, uint32_t view_mask, F f)
{
   if (view_mask == 0)
      return f(area);
   for (; view_mask; view_mask &= view_mask - 1) {
      area.first_layer = uint32_t(std::countr_zero(view_mask));
      area.layers = 1;
      f(area);
   }
}

/// The area's parts outside of the attachment are left out.
void clear(const Attachment &to, const TexelBytes &texel, const Area &area)
{
   const Span layers = clamp_span(area.first_layer, area.layers, to.layers),
              rows = clamp_span(area.rect.offset.y, area.rect.extent.height, to.height),
              columns = clamp_span(area.rect.offset.x, area.rect.extent.width, to.width);
   const uint64_t row_bytes = uint64_t(columns.count()) * to.texel_bytes;
   clear_box(place_in(to, layers.first, rows.first, columns.first),
             {row_bytes, rows.count(), layers.count() * to.samples}, texel, to.texel_bytes);
}

void clear_views(const Attachment &to, const TexelBytes &texel, const Area &area,
                 uint32_t view_mask)
{
   if (to.place.first)
      for_each_view(area, view_mask, [&](const Area &part) { clear(to, texel, part); });
}

bool run_begin(Queue *queue, const Command *command)
{
   queue->rendering = command;
   return true;
}

void resolve(const Attachment &from, const Resolved &end, const Area &area)
{
   const Span rows = clamp_span(area.rect.offset.y, area.rect.extent.height, from.height),
              columns = clamp_span(area.rect.offset.x, area.rect.extent.width, from.width),
              layers = clamp_span(area.first_layer, area.layers, from.layers);
   run_resolve({
      .to = place_in(end.to, layers.first, rows.first, columns.first),
      .from = place_in(from, layers.first, rows.first, columns.first),
      .width = columns.count(),
      .height = rows.count(),
      .layers = layers.count(),
      .samples = from.samples,
      .texel_bytes = from.texel_bytes,
      .format = from.format,
      .is_average = end.is_average,
   });
}

void resolve_views(const Attachment &from, const Resolved &end, const Area &area,
                   uint32_t view_mask)
{
   if (from.place.first && end.to.place.first)
      for_each_view(area, view_mask, [&](const Area &part) { resolve(from, end, part); });
}

bool run_end(Queue *queue, const Command *)
{
   if (auto *r = static_cast<const BeginRendering *>(queue->rendering)) {
      for (uint32_t i = 0; i < max_colors; i++)
         resolve_views(r->colors[i], r->resolved_colors[i], r->area, r->view_mask);
      resolve_views(r->depth, r->resolved_depth, r->area, r->view_mask);
      resolve_views(r->stencil, r->resolved_stencil, r->area, r->view_mask);
   }
   queue->rendering = nullptr;
   return true;
}

/// The attachments belong to the rendering in which the command runs: a secondary command buffer
/// does not know them when it is recorded.
bool run_clear(Queue *queue, const Command *command)
{
   auto *c = static_cast<const ClearAttachment *>(command);
   auto *rendering = static_cast<const BeginRendering *>(queue->rendering);
   if (!rendering || (queue->discards && !c->is_load))
      return true;
   TexelBytes texel = {};
   if (c->aspects & VK_IMAGE_ASPECT_COLOR_BIT && c->color < max_colors) {
      const Attachment &to = rendering->colors[c->color];
      if (to.place.first)
         util_format_pack_rgba(to.format, texel.data(), &c->value.color, 1);
      clear_views(to, texel, c->area, rendering->view_mask);
   }
   if (c->aspects & VK_IMAGE_ASPECT_DEPTH_BIT) {
      if (rendering->depth.place.first)
         util_format_pack_z_float(rendering->depth.format, texel.data(),
                                  &c->value.depthStencil.depth, 1);
      clear_views(rendering->depth, texel, c->area, rendering->view_mask);
   }
   if (c->aspects & VK_IMAGE_ASPECT_STENCIL_BIT) {
      texel = {uint8_t(c->value.depthStencil.stencil)};
      clear_views(rendering->stencil, texel, c->area, rendering->view_mask);
   }
   return true;
}

Attachment attachment_of(const VkRenderingAttachmentInfo *info, VkImageAspectFlagBits aspect)
{
   if (!info || info->imageView == VK_NULL_HANDLE)
      return {};
   VK_FROM_HANDLE(ImageView, view, info->imageView);
   auto *image = reinterpret_cast<const Image *>(view->vk.image);
   const ImageLevel &level = image->level(view->vk.base_mip_level, aspect);
   const uint32_t first = image->slices_of(view->vk.base_array_layer);
   return {
      .place = place_of_level(*image, view->vk.base_mip_level, first, aspect),
      .width = level.extent.width,
      .height = level.extent.height,
      .layers = (level.slices - first) / image->vk.samples,
      .samples = image->vk.samples,
      .texel_bytes = image->texel_bytes(aspect),
      .format = vk_format_to_pipe_format(aspect == VK_IMAGE_ASPECT_DEPTH_BIT
                                            ? vk_format_depth_only(view->vk.view_format)
                                            : view->vk.view_format),
   };
}

Resolved resolved_of(const VkRenderingAttachmentInfo *info, VkImageAspectFlagBits aspect)
{
   if (!info || info->resolveMode == VK_RESOLVE_MODE_NONE || !info->resolveImageView)
      return {};
   VkRenderingAttachmentInfo to = *info;
   to.imageView = info->resolveImageView;
   return {attachment_of(&to, aspect), info->resolveMode == VK_RESOLVE_MODE_AVERAGE_BIT};
}

void record_clear(CommandBuffer *cmd, VkImageAspectFlags aspects, uint32_t color,
                  const VkClearValue &value, const Area &area, bool is_load)
{
   auto *command = record<ClearAttachment>(cmd);
   if (!command)
      return;
   command->run = run_clear;
   command->aspects = aspects;
   command->color = color;
   command->value = value;
   command->area = area;
   command->is_load = is_load;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdBeginRendering(VkCommandBuffer commandBuffer,
                                                  const VkRenderingInfo *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   auto *begin = record<BeginRendering>(cmd);
   if (!begin)
      return;
   begin->run = run_begin;
   begin->view_mask = pInfo->viewMask;
   const uint32_t count = std::min(pInfo->colorAttachmentCount, max_colors);
   for (uint32_t i = 0; i < count; i++)
      begin->colors[i] = attachment_of(&pInfo->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT);
   begin->depth = attachment_of(pInfo->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT);
   begin->stencil = attachment_of(pInfo->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT);
   begin->area = {pInfo->renderArea, 0, pInfo->layerCount};
   // A suspended rendering is resolved where it ends.
   if (!(pInfo->flags & VK_RENDERING_SUSPENDING_BIT)) {
      for (uint32_t i = 0; i < count; i++)
         begin->resolved_colors[i] =
            resolved_of(&pInfo->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT);
      begin->resolved_depth = resolved_of(pInfo->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT);
      begin->resolved_stencil = resolved_of(pInfo->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT);
   }
   // A resumed rendering has been cleared where it began.
   if (pInfo->flags & VK_RENDERING_RESUMING_BIT)
      return;
   const Area area = begin->area;
   const auto load = [&](const VkRenderingAttachmentInfo *info, VkImageAspectFlags aspect,
                         uint32_t color) {
      if (info && info->imageView && info->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR)
         record_clear(cmd, aspect, color, info->clearValue, area, true);
   };
   for (uint32_t i = 0; i < count; i++)
      load(&pInfo->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT, i);
   load(pInfo->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT, 0);
   load(pInfo->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT, 0);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdEndRendering(VkCommandBuffer commandBuffer)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   auto *end = record<EndRendering>(cmd);
   if (end)
      end->run = run_end;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdEndRendering2KHR(VkCommandBuffer commandBuffer,
                                                    const VkRenderingEndInfoKHR *)
{
   weft_CmdEndRendering(commandBuffer);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdClearAttachments(VkCommandBuffer commandBuffer,
                                                    uint32_t attachmentCount,
                                                    const VkClearAttachment *pAttachments,
                                                    uint32_t rectCount, const VkClearRect *pRects)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   for (uint32_t i = 0; i < attachmentCount; i++) {
      for (uint32_t r = 0; r < rectCount; r++)
         record_clear(cmd, pAttachments[i].aspectMask, pAttachments[i].colorAttachment,
                      pAttachments[i].clearValue,
                      {pRects[r].rect, pRects[r].baseArrayLayer, pRects[r].layerCount}, false);
   }
}
