; SPDX-License-Identifier: Apache-2.0
; Made of check_arguments.c by tools/make_linked_ir.sh.

%struct.TernAny = type { i32, i32, %union.anon }
%union.anon = type { i64 }
%union.TernSlot = type { i64 }
%struct.TernNumber = type { i64, i64 }
%struct.TernPair = type { i64, i64 }
%struct.TernChecked = type { ptr, ptr, ptr, ptr, i32 }
%struct.TernMessage = type { [16 x %struct.TernAny], i32 }

@.str = private unnamed_addr constant [12 x i8] c": expected \00", align 1
@.str.1 = private unnamed_addr constant [17 x i8] c" arguments, got \00", align 1
@.str.2 = private unnamed_addr constant [10 x i8] c"TypeError\00", align 1
@.str.3 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.4 = private unnamed_addr constant [11 x i8] c"ValueError\00", align 1
@.str.5 = private unnamed_addr constant [26 x i8] c", which the value fits in\00", align 1
@.str.6 = private unnamed_addr constant [12 x i8] c": argument \00", align 1
@.str.7 = private unnamed_addr constant [3 x i8] c" (\00", align 1
@.str.8 = private unnamed_addr constant [13 x i8] c"): expected \00", align 1
@.str.9 = private unnamed_addr constant [7 x i8] c", got \00", align 1
@.str.10 = private unnamed_addr constant [13 x i8] c"a tensor on \00", align 1
@.str.11 = private unnamed_addr constant [37 x i8] c"a tensor on the device of the others\00", align 1
@.str.12 = private unnamed_addr constant [17 x i8] c" tensor of rank \00", align 1
@.str.13 = private unnamed_addr constant [30 x i8] c"strides, got a tensor without\00", align 1
@.str.14 = private unnamed_addr constant [71 x i8] c"a tensor without byte offset (a kernel that is given as code takes it)\00", align 1
@.str.15 = private unnamed_addr constant [17 x i8] c"data aligned to \00", align 1
@.str.16 = private unnamed_addr constant [7 x i8] c" bytes\00", align 1
@.str.17 = private unnamed_addr constant [8 x i8] c"extent \00", align 1
@.str.18 = private unnamed_addr constant [8 x i8] c"stride \00", align 1
@.str.19 = private unnamed_addr constant [17 x i8] c"a compact tensor\00", align 1
@.str.20 = private unnamed_addr constant [8 x i8] c" to be \00", align 1
@.str.21 = private unnamed_addr constant [4 x i8] c" = \00", align 1
@.str.22 = private unnamed_addr constant [36 x i8] c"memory apart from that of argument \00", align 1
@.str.23 = private unnamed_addr constant [70 x i8] c"); a function with the attribute may_alias takes tensors that overlap\00", align 1

define hidden range(i32 -1, 1) i32 @tern_check_arguments(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef %5) local_unnamed_addr #0 {
  %7 = icmp eq i32 %5, 3
  br i1 %7, label %8, label %323

8:
  %9 = getelementptr inbounds nuw i8, ptr %4, i32 32
  %10 = load i64, ptr %9, align 8
  %11 = and i64 %10, 4
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %323, label %13

13:
  %14 = sext i32 %2 to i64
  %15 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %16 = load i64, ptr %15, align 8
  %17 = icmp eq i64 %16, %14
  br i1 %17, label %18, label %323

18:
  %19 = getelementptr inbounds nuw i8, ptr %4, i32 64
  %20 = getelementptr inbounds nuw i8, ptr %4, i32 48
  %21 = load i64, ptr %20, align 8
  %22 = trunc i64 %21 to i32
  %23 = getelementptr inbounds i64, ptr %19, i32 %22
  %24 = and i64 %10, 8
  %25 = icmp eq i64 %24, 0
  br i1 %25, label %84, label %26

26:
  %27 = icmp sgt i32 %2, 0
  br i1 %27, label %28, label %280

28:
  %29 = phi i64 [ %78, %77 ], [ %14, %26 ]
  %30 = phi i64 [ %79, %77 ], [ 0, %26 ]
  %31 = phi ptr [ %82, %77 ], [ %23, %26 ]
  %32 = getelementptr inbounds nuw i8, ptr %31, i32 24
  %33 = load i64, ptr %32, align 8
  switch i64 %33, label %44 [
    i64 5, label %77
    i64 1, label %34
    i64 0, label %39
  ]

34:
  %35 = trunc i64 %30 to i32
  %36 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %35
  %37 = load i32, ptr %36, align 8
  %38 = icmp eq i32 %37, 3
  br i1 %38, label %67, label %323

39:
  %40 = trunc i64 %30 to i32
  %41 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %40
  %42 = load i32, ptr %41, align 8
  %43 = icmp eq i32 %42, 4
  br i1 %43, label %67, label %323

44:
  %45 = trunc i64 %30 to i32
  %46 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %45
  %47 = load i32, ptr %46, align 8
  %48 = icmp eq i32 %47, 1
  br i1 %48, label %49, label %323

49:
  %50 = getelementptr inbounds nuw i8, ptr %31, i32 40
  %51 = load i64, ptr %50, align 8
  %52 = icmp sgt i64 %51, 63
  br i1 %52, label %67, label %53

53:
  switch i64 %33, label %60 [
    i64 4, label %67
    i64 2, label %54
  ]

54:
  %55 = getelementptr inbounds nuw i8, ptr %46, i32 8
  %56 = load i64, ptr %55, align 8
  %57 = add nsw i64 %51, -1
  %58 = shl nuw nsw i64 1, %57
  %59 = add i64 %56, %58
  br label %63

60:
  %61 = getelementptr inbounds nuw i8, ptr %46, i32 8
  %62 = load i64, ptr %61, align 8
  br label %63

63:
  %64 = phi i64 [ %59, %54 ], [ %62, %60 ]
  %65 = lshr i64 %64, %51
  %66 = icmp eq i64 %65, 0
  br i1 %66, label %67, label %323

67:
  %68 = phi i32 [ %45, %49 ], [ %45, %53 ], [ %45, %63 ], [ %40, %39 ], [ %35, %34 ]
  %69 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %68
  %70 = getelementptr inbounds nuw i8, ptr %69, i32 8
  %71 = load i64, ptr %70, align 8
  %72 = getelementptr inbounds nuw i8, ptr %31, i32 32
  %73 = load i64, ptr %72, align 8
  %74 = trunc i64 %73 to i32
  %75 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %74
  store i64 %71, ptr %75, align 8
  %76 = load i64, ptr %15, align 8
  br label %77

77:
  %78 = phi i64 [ %29, %28 ], [ %76, %67 ]
  %79 = add nuw nsw i64 %30, 1
  %80 = load i64, ptr %31, align 8
  %81 = trunc i64 %80 to i32
  %82 = getelementptr inbounds i64, ptr %31, i32 %81
  %83 = icmp slt i64 %79, %78
  br i1 %83, label %28, label %84

84:
  %85 = phi i64 [ %14, %18 ], [ %78, %77 ]
  %86 = icmp sgt i64 %85, 0
  br i1 %86, label %87, label %280

87:
  %88 = getelementptr inbounds nuw i8, ptr %4, i32 16
  %89 = getelementptr inbounds nuw i8, ptr %4, i32 40
  br label %90

90:
  %91 = phi i64 [ %85, %87 ], [ %270, %269 ]
  %92 = phi ptr [ %23, %87 ], [ %276, %269 ]
  %93 = phi i64 [ 0, %87 ], [ %272, %269 ]
  %94 = phi i64 [ 0, %87 ], [ %273, %269 ]
  %95 = phi i32 [ -1, %87 ], [ %271, %269 ]
  %96 = getelementptr inbounds nuw i8, ptr %92, i32 112
  %97 = getelementptr inbounds nuw i8, ptr %92, i32 32
  %98 = load i64, ptr %97, align 8
  %99 = trunc i64 %98 to i32
  %100 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %99
  %101 = getelementptr inbounds nuw i8, ptr %92, i32 88
  %102 = load i64, ptr %101, align 8
  %103 = getelementptr inbounds nuw i8, ptr %92, i32 24
  %104 = load i64, ptr %103, align 8
  %105 = icmp eq i64 %104, 5
  br i1 %105, label %106, label %269

106:
  %107 = trunc i64 %94 to i32
  %108 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %107
  %109 = load i32, ptr %108, align 8
  switch i32 %109, label %323 [
    i32 7, label %110
    i32 70, label %110
  ]

110:
  %111 = getelementptr inbounds nuw i8, ptr %108, i32 8
  %112 = load ptr, ptr %111, align 8
  %113 = icmp eq i32 %109, 70
  %114 = select i1 %113, i32 24, i32 0
  %115 = getelementptr inbounds nuw i8, ptr %112, i32 %114
  %116 = getelementptr inbounds nuw i8, ptr %115, i32 16
  %117 = load i32, ptr %116, align 8
  %118 = zext i32 %117 to i64
  %119 = getelementptr inbounds nuw i8, ptr %92, i32 40
  %120 = load i64, ptr %119, align 8
  %121 = icmp eq i64 %120, %118
  br i1 %121, label %122, label %323

122:
  %123 = getelementptr inbounds nuw i8, ptr %115, i32 12
  %124 = load i32, ptr %123, align 4
  %125 = sext i32 %124 to i64
  %126 = getelementptr inbounds nuw i8, ptr %92, i32 48
  %127 = load i64, ptr %126, align 8
  %128 = icmp eq i64 %127, %125
  br i1 %128, label %129, label %323

129:
  %130 = getelementptr inbounds nuw i8, ptr %115, i32 4
  %131 = load i32, ptr %130, align 4
  %132 = sext i32 %131 to i64
  %133 = load i64, ptr %88, align 8
  %134 = icmp eq i64 %133, %132
  br i1 %134, label %135, label %323

135:
  %136 = load i64, ptr %9, align 8
  %137 = and i64 %136, 2
  %138 = icmp eq i64 %137, 0
  br i1 %138, label %139, label %157

139:
  %140 = getelementptr inbounds nuw i8, ptr %115, i32 8
  %141 = load i32, ptr %140, align 8
  %142 = icmp slt i32 %141, 0
  br i1 %142, label %323, label %143

143:
  %144 = icmp slt i32 %95, 0
  br i1 %144, label %145, label %151

145:
  %146 = zext nneg i32 %141 to i64
  %147 = load i64, ptr %89, align 8
  %148 = trunc i64 %147 to i32
  %149 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %148
  store i64 %146, ptr %149, align 8
  %150 = load i32, ptr %140, align 8
  br label %151

151:
  %152 = phi i32 [ %150, %145 ], [ %141, %143 ]
  %153 = phi i32 [ %141, %145 ], [ %95, %143 ]
  %154 = xor i32 %153, %152
  %155 = sext i32 %154 to i64
  %156 = or i64 %93, %155
  br label %157

157:
  %158 = phi i32 [ %95, %135 ], [ %153, %151 ]
  %159 = phi i64 [ %93, %135 ], [ %156, %151 ]
  %160 = getelementptr inbounds nuw i8, ptr %115, i32 20
  %161 = load ptr, ptr %160, align 4
  %162 = getelementptr inbounds nuw i8, ptr %92, i32 72
  %163 = load i64, ptr %162, align 8
  %164 = and i64 %163, 4
  %165 = icmp eq i64 %164, 0
  br i1 %165, label %182, label %166

166:
  %167 = load i64, ptr %126, align 8
  %168 = icmp sgt i64 %167, 0
  br i1 %168, label %169, label %217

169:
  %170 = phi i64 [ %179, %169 ], [ %159, %166 ]
  %171 = phi i64 [ %180, %169 ], [ 0, %166 ]
  %172 = trunc i64 %171 to i32
  %173 = getelementptr inbounds i64, ptr %161, i32 %172
  %174 = load i64, ptr %173, align 8
  %175 = getelementptr inbounds %struct.TernNumber, ptr %96, i32 %172
  %176 = getelementptr inbounds nuw i8, ptr %175, i32 8
  %177 = load i64, ptr %176, align 8
  %178 = xor i64 %177, %174
  %179 = or i64 %178, %170
  %180 = add nuw nsw i64 %171, 1
  %181 = icmp eq i64 %180, %167
  br i1 %181, label %217, label %169

182:
  %183 = getelementptr inbounds nuw i8, ptr %92, i32 64
  %184 = load i64, ptr %183, align 8
  %185 = load i64, ptr %126, align 8
  %186 = icmp sgt i64 %185, 0
  br i1 %186, label %187, label %217

187:
  %188 = phi i64 [ %212, %211 ], [ %185, %182 ]
  %189 = phi i64 [ %214, %211 ], [ %184, %182 ]
  %190 = phi i64 [ %213, %211 ], [ %159, %182 ]
  %191 = phi i64 [ %215, %211 ], [ 0, %182 ]
  %192 = trunc i64 %191 to i32
  %193 = getelementptr inbounds %struct.TernNumber, ptr %96, i32 %192
  %194 = load i64, ptr %193, align 8
  %195 = getelementptr inbounds nuw i8, ptr %193, i32 8
  %196 = load i64, ptr %195, align 8
  %197 = getelementptr inbounds i64, ptr %161, i32 %192
  %198 = load i64, ptr %197, align 8
  switch i64 %194, label %203 [
    i64 2, label %199
    i64 0, label %207
  ]

199:
  %200 = trunc i64 %196 to i32
  %201 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %200
  store i64 %198, ptr %201, align 8
  %202 = load i64, ptr %126, align 8
  br label %211

203:
  %204 = trunc i64 %196 to i32
  %205 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %204
  %206 = load i64, ptr %205, align 8
  br label %207

207:
  %208 = phi i64 [ %206, %203 ], [ %196, %187 ]
  %209 = xor i64 %208, %198
  %210 = or i64 %209, %190
  br label %211

211:
  %212 = phi i64 [ %202, %199 ], [ %188, %207 ]
  %213 = phi i64 [ %190, %199 ], [ %210, %207 ]
  %214 = mul nsw i64 %198, %189
  %215 = add nuw nsw i64 %191, 1
  %216 = icmp slt i64 %215, %212
  br i1 %216, label %187, label %217

217:
  %218 = phi i64 [ %213, %211 ], [ %159, %182 ], [ %159, %166 ], [ %179, %169 ]
  %219 = phi i64 [ %214, %211 ], [ %184, %182 ], [ %102, %166 ], [ %102, %169 ]
  %220 = getelementptr inbounds nuw i8, ptr %115, i32 24
  %221 = load ptr, ptr %220, align 8
  %222 = icmp eq ptr %221, null
  br i1 %222, label %252, label %223

223:
  %224 = load i32, ptr %123, align 4
  %225 = icmp sgt i32 %224, 0
  br i1 %225, label %226, label %252

226:
  %227 = zext nneg i32 %224 to i64
  %228 = load ptr, ptr %160, align 4
  br label %229

229:
  %230 = phi i64 [ %227, %226 ], [ %233, %243 ]
  %231 = phi i32 [ 1, %226 ], [ %245, %243 ]
  %232 = phi i64 [ 1, %226 ], [ %246, %243 ]
  %233 = add nsw i64 %230, -1
  %234 = trunc i64 %233 to i32
  %235 = getelementptr inbounds i64, ptr %228, i32 %234
  %236 = load i64, ptr %235, align 8
  %237 = icmp eq i64 %236, 1
  br i1 %237, label %243, label %238

238:
  %239 = getelementptr inbounds i64, ptr %221, i32 %234
  %240 = load i64, ptr %239, align 8
  %241 = icmp eq i64 %240, %232
  %242 = zext i1 %241 to i32
  br label %243

243:
  %244 = phi i32 [ 1, %229 ], [ %242, %238 ]
  %245 = and i32 %244, %231
  %246 = mul nsw i64 %236, %232
  %247 = icmp samesign ugt i64 %230, 1
  br i1 %247, label %229, label %248

248:
  %249 = icmp eq i32 %245, 0
  %250 = icmp ne i64 %246, 0
  %251 = select i1 %249, i1 %250, i1 false
  br i1 %251, label %323, label %252

252:
  %253 = load ptr, ptr %115, align 8
  %254 = getelementptr inbounds nuw i8, ptr %115, i32 32
  %255 = load i64, ptr %254, align 8
  %256 = trunc i64 %255 to i32
  %257 = getelementptr inbounds nuw i8, ptr %253, i32 %256
  store ptr %257, ptr %100, align 8
  %258 = ptrtoint ptr %257 to i32
  %259 = zext i32 %258 to i64
  %260 = getelementptr inbounds nuw i8, ptr %100, i32 8
  store i64 %259, ptr %260, align 8
  %261 = add nsw i64 %219, %259
  %262 = getelementptr inbounds nuw i8, ptr %100, i32 16
  store i64 %261, ptr %262, align 8
  %263 = getelementptr inbounds nuw i8, ptr %92, i32 56
  %264 = load i64, ptr %263, align 8
  %265 = add i64 %264, 4294967295
  %266 = and i64 %265, %259
  %267 = or i64 %266, %218
  %268 = load i64, ptr %15, align 8
  br label %269

269:
  %270 = phi i64 [ %268, %252 ], [ %91, %90 ]
  %271 = phi i32 [ %158, %252 ], [ %95, %90 ]
  %272 = phi i64 [ %267, %252 ], [ %93, %90 ]
  %273 = add nuw nsw i64 %94, 1
  %274 = load i64, ptr %92, align 8
  %275 = trunc i64 %274 to i32
  %276 = getelementptr inbounds i64, ptr %92, i32 %275
  %277 = icmp slt i64 %273, %270
  br i1 %277, label %90, label %278

278:
  %279 = icmp eq i64 %272, 0
  br i1 %279, label %280, label %323

280:
  %281 = phi ptr [ %276, %278 ], [ %23, %84 ], [ %23, %26 ]
  %282 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %283 = load i64, ptr %282, align 8
  %284 = icmp sgt i64 %283, 0
  br i1 %284, label %285, label %325

285:
  %286 = load i64, ptr %9, align 8
  %287 = and i64 %286, 1
  %288 = icmp eq i64 %287, 0
  br label %289

289:
  %290 = phi i64 [ 0, %285 ], [ %321, %320 ]
  %291 = trunc i64 %290 to i32
  %292 = getelementptr inbounds %struct.TernPair, ptr %281, i32 %291
  %293 = load i64, ptr %292, align 8
  %294 = trunc i64 %293 to i32
  %295 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %294
  %296 = getelementptr inbounds nuw i8, ptr %292, i32 8
  %297 = load i64, ptr %296, align 8
  %298 = trunc i64 %297 to i32
  %299 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %298
  %300 = getelementptr inbounds nuw i8, ptr %295, i32 8
  %301 = load i64, ptr %300, align 8
  %302 = getelementptr inbounds nuw i8, ptr %295, i32 16
  %303 = load i64, ptr %302, align 8
  %304 = getelementptr inbounds nuw i8, ptr %299, i32 8
  %305 = load i64, ptr %304, align 8
  %306 = getelementptr inbounds nuw i8, ptr %299, i32 16
  %307 = load i64, ptr %306, align 8
  br i1 %288, label %308, label %312

308:
  %309 = load ptr, ptr %295, align 8
  %310 = load ptr, ptr %299, align 8
  %311 = icmp eq ptr %309, %310
  br i1 %311, label %312, label %320

312:
  %313 = icmp ugt i64 %303, %305
  %314 = icmp ugt i64 %307, %301
  %315 = select i1 %313, i1 %314, i1 false
  %316 = icmp ne i64 %301, %303
  %317 = select i1 %315, i1 %316, i1 false
  %318 = icmp ne i64 %305, %307
  %319 = select i1 %317, i1 %318, i1 false
  br i1 %319, label %323, label %320

320:
  %321 = add nuw nsw i64 %290, 1
  %322 = icmp eq i64 %321, %283
  br i1 %322, label %325, label %289

323:
  %324 = tail call fastcc i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef %3, ptr noundef %4, i32 noundef %5) #7
  br label %325

325:
  %326 = phi i32 [ %324, %323 ], [ 0, %280 ], [ 0, %320 ]
  ret i32 %326
}

declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

define internal fastcc range(i32 -1, 1) i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef %5) unnamed_addr #2 {
  %7 = alloca %struct.TernChecked, align 4
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #8
  store ptr %0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %7, i32 4
  store ptr %4, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i32 8
  store ptr null, ptr %9, align 4
  %10 = getelementptr inbounds nuw i8, ptr %7, i32 12
  store ptr null, ptr %10, align 4
  %11 = getelementptr inbounds nuw i8, ptr %7, i32 16
  store i32 0, ptr %11, align 4
  %12 = and i32 %5, 1
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %29, label %14

14:
  %15 = sext i32 %2 to i64
  %16 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %17 = load i64, ptr %16, align 8
  %18 = icmp eq i64 %17, %15
  br i1 %18, label %20, label %19

19:
  call fastcc void @tern_expected_arguments(ptr noundef %7, i64 noundef %15) #7
  br label %127

20:
  %21 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 0) #9
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %127

23:
  %24 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 1) #9
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %26, label %127

26:
  %27 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 2) #9
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %29, label %127

29:
  %30 = and i32 %5, 2
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %127, label %32

32:
  %33 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 3) #9
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %35, label %127

35:
  %36 = getelementptr inbounds nuw i8, ptr %4, i32 64
  %37 = getelementptr inbounds nuw i8, ptr %4, i32 48
  %38 = load i64, ptr %37, align 8
  %39 = trunc i64 %38 to i32
  %40 = getelementptr inbounds i64, ptr %36, i32 %39
  %41 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %42 = load i64, ptr %41, align 8
  %43 = icmp sgt i64 %42, 0
  br i1 %43, label %44, label %52

44:
  %45 = phi i64 [ %50, %44 ], [ 0, %35 ]
  %46 = phi ptr [ %49, %44 ], [ %40, %35 ]
  %47 = load i64, ptr %46, align 8
  %48 = trunc i64 %47 to i32
  %49 = getelementptr inbounds i64, ptr %46, i32 %48
  %50 = add nuw nsw i64 %45, 1
  %51 = icmp eq i64 %50, %42
  br i1 %51, label %52, label %44

52:
  %53 = phi ptr [ %40, %35 ], [ %49, %44 ]
  %54 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %55 = load i64, ptr %54, align 8
  %56 = icmp sgt i64 %55, 0
  br i1 %56, label %57, label %127

57:
  %58 = getelementptr inbounds nuw i8, ptr %4, i32 32
  %59 = load i64, ptr %58, align 8
  %60 = and i64 %59, 1
  %61 = icmp eq i64 %60, 0
  br label %62

62:
  %63 = phi i64 [ 0, %57 ], [ %94, %93 ]
  %64 = trunc i64 %63 to i32
  %65 = getelementptr inbounds %struct.TernPair, ptr %53, i32 %64
  %66 = load i64, ptr %65, align 8
  %67 = trunc i64 %66 to i32
  %68 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %67
  %69 = getelementptr inbounds nuw i8, ptr %65, i32 8
  %70 = load i64, ptr %69, align 8
  %71 = trunc i64 %70 to i32
  %72 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %71
  %73 = getelementptr inbounds nuw i8, ptr %68, i32 8
  %74 = load i64, ptr %73, align 8
  %75 = getelementptr inbounds nuw i8, ptr %68, i32 16
  %76 = load i64, ptr %75, align 8
  %77 = getelementptr inbounds nuw i8, ptr %72, i32 8
  %78 = load i64, ptr %77, align 8
  %79 = getelementptr inbounds nuw i8, ptr %72, i32 16
  %80 = load i64, ptr %79, align 8
  br i1 %61, label %81, label %85

81:
  %82 = load ptr, ptr %68, align 8
  %83 = load ptr, ptr %72, align 8
  %84 = icmp eq ptr %82, %83
  br i1 %84, label %85, label %93

85:
  %86 = icmp ugt i64 %76, %78
  %87 = icmp ugt i64 %80, %74
  %88 = select i1 %86, i1 %87, i1 false
  %89 = icmp ne i64 %74, %76
  %90 = select i1 %88, i1 %89, i1 false
  %91 = icmp ne i64 %78, %80
  %92 = select i1 %90, i1 %91, i1 false
  br i1 %92, label %96, label %93

93:
  %94 = add nuw nsw i64 %63, 1
  %95 = icmp eq i64 %94, %55
  br i1 %95, label %127, label %62

96:
  %97 = getelementptr inbounds nuw i8, ptr %40, i32 32
  %98 = load i64, ptr %97, align 8
  %99 = icmp eq i64 %98, %66
  br i1 %99, label %110, label %100

100:
  %101 = phi ptr [ %105, %100 ], [ %40, %96 ]
  %102 = phi i32 [ %106, %100 ], [ 0, %96 ]
  %103 = load i64, ptr %101, align 8
  %104 = trunc i64 %103 to i32
  %105 = getelementptr inbounds i64, ptr %101, i32 %104
  %106 = add nuw nsw i32 %102, 1
  %107 = getelementptr inbounds nuw i8, ptr %105, i32 32
  %108 = load i64, ptr %107, align 8
  %109 = icmp eq i64 %108, %66
  br i1 %109, label %110, label %100

110:
  %111 = phi i32 [ 0, %96 ], [ %106, %100 ]
  %112 = phi ptr [ %40, %96 ], [ %105, %100 ]
  store i32 0, ptr %11, align 4
  %113 = icmp eq i64 %98, %70
  br i1 %113, label %125, label %114

114:
  %115 = phi ptr [ %119, %114 ], [ %40, %110 ]
  %116 = phi i32 [ %120, %114 ], [ 0, %110 ]
  %117 = load i64, ptr %115, align 8
  %118 = trunc i64 %117 to i32
  %119 = getelementptr inbounds i64, ptr %115, i32 %118
  %120 = add nuw nsw i32 %116, 1
  %121 = getelementptr inbounds nuw i8, ptr %119, i32 32
  %122 = load i64, ptr %121, align 8
  %123 = icmp eq i64 %122, %70
  br i1 %123, label %124, label %114

124:
  store i32 %120, ptr %11, align 4
  br label %125

125:
  %126 = phi ptr [ %40, %110 ], [ %119, %124 ]
  store ptr %126, ptr %9, align 4
  call fastcc void @tern_expected_apart(ptr noundef %7, ptr noundef nonnull %112, i32 noundef %111) #7
  br label %127

127:
  %128 = phi i32 [ -1, %19 ], [ -1, %20 ], [ 0, %29 ], [ -1, %125 ], [ -1, %32 ], [ -1, %26 ], [ -1, %23 ], [ 0, %52 ], [ 0, %93 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #8
  ret i32 %128
}

declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

define internal fastcc void @tern_expected_arguments(ptr noundef nonnull readonly captures(none) %0, i64 noundef range(i64 -2147483648, 2147483648) %1) unnamed_addr #2 {
  %3 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #8
  %4 = getelementptr inbounds nuw i8, ptr %3, i32 256
  store i32 0, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %6 = load ptr, ptr %5, align 4
  %7 = load i64, ptr %6, align 8
  %8 = trunc i64 %7 to i32
  %9 = getelementptr inbounds i8, ptr %6, i32 %8
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull %9) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str) #7
  %10 = load ptr, ptr %5, align 4
  %11 = getelementptr inbounds nuw i8, ptr %10, i32 8
  %12 = load i64, ptr %11, align 8
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %12) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str.1) #7
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %1) #7
  %13 = load ptr, ptr %0, align 4
  %14 = getelementptr inbounds nuw i8, ptr %13, i32 12
  %15 = load ptr, ptr %14, align 4
  %16 = load i32, ptr %4, align 8
  call void %15(ptr noundef %13, ptr noundef nonnull @.str.2, ptr noundef nonnull %3, i32 noundef %16) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #8
  ret void
}

define internal fastcc range(i32 -1, 1) i32 @tern_check_all(ptr noundef nonnull captures(none) initializes((8, 12), (16, 20)) %0, ptr noundef %1, ptr noundef captures(none) %2, i32 noundef range(i32 0, 4) %3) unnamed_addr #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %6 = load ptr, ptr %5, align 4
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 64
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 48
  %9 = load i64, ptr %8, align 8
  %10 = trunc i64 %9 to i32
  %11 = getelementptr inbounds i64, ptr %7, i32 %10
  %12 = getelementptr inbounds nuw i8, ptr %0, i32 8
  store ptr %11, ptr %12, align 4
  %13 = getelementptr inbounds nuw i8, ptr %0, i32 16
  store i32 0, ptr %13, align 4
  %14 = getelementptr inbounds nuw i8, ptr %6, i32 8
  %15 = load i64, ptr %14, align 8
  %16 = icmp sgt i64 %15, 0
  br i1 %16, label %17, label %433

17:
  %18 = getelementptr inbounds nuw i8, ptr %0, i32 12
  %19 = icmp eq i32 %3, 0
  br label %20

20:
  %21 = phi ptr [ %11, %17 ], [ %425, %420 ]
  %22 = phi ptr [ %6, %17 ], [ %429, %420 ]
  %23 = phi i32 [ 1, %17 ], [ %421, %420 ]
  %24 = phi i32 [ 0, %17 ], [ %427, %420 ]
  %25 = getelementptr inbounds nuw i8, ptr %21, i32 24
  %26 = load i64, ptr %25, align 8
  %27 = icmp eq i64 %26, 5
  %28 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %24
  store ptr %28, ptr %18, align 4
  br i1 %19, label %29, label %88

29:
  br i1 %27, label %420, label %30

30:
  %31 = getelementptr inbounds nuw i8, ptr %21, i32 16
  %32 = load i64, ptr %31, align 8
  %33 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %34 = load i64, ptr %33, align 8
  %35 = trunc i64 %34 to i32
  %36 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %35
  %37 = load i32, ptr %28, align 8
  %38 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %39 = load i64, ptr %38, align 8
  %40 = load i64, ptr %25, align 8
  %41 = bitcast i64 %39 to double
  %42 = trunc i64 %39 to i32
  %43 = inttoptr i32 %42 to ptr
  switch i64 %40, label %61 [
    i64 0, label %44
    i64 1, label %49
  ]

44:
  switch i32 %37, label %45 [
    i32 4, label %48
    i32 0, label %48
  ]

45:
  %46 = trunc i64 %32 to i32
  %47 = getelementptr inbounds i8, ptr %22, i32 %46
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %47, ptr noundef nonnull @.str.3) #7
  br label %433

48:
  store ptr %43, ptr %36, align 8
  br label %420

49:
  %50 = add i32 %37, -1
  %51 = icmp ult i32 %50, 2
  br i1 %51, label %57, label %52

52:
  %53 = icmp eq i32 %37, 3
  br i1 %53, label %59, label %54

54:
  %55 = trunc i64 %32 to i32
  %56 = getelementptr inbounds i8, ptr %22, i32 %55
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %56, ptr noundef nonnull @.str.3) #7
  br label %433

57:
  %58 = sitofp i64 %39 to double
  br label %59

59:
  %60 = phi double [ %58, %57 ], [ %41, %52 ]
  store double %60, ptr %36, align 8
  br label %420

61:
  %62 = add i32 %37, -1
  %63 = icmp ult i32 %62, 2
  br i1 %63, label %67, label %64

64:
  %65 = trunc i64 %32 to i32
  %66 = getelementptr inbounds i8, ptr %22, i32 %65
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %66, ptr noundef nonnull @.str.3) #7
  br label %433

67:
  store i64 %39, ptr %36, align 8
  %68 = getelementptr inbounds nuw i8, ptr %21, i32 40
  %69 = load i64, ptr %68, align 8
  %70 = icmp sgt i64 %69, 63
  br i1 %70, label %420, label %71

71:
  %72 = load i64, ptr %25, align 8
  switch i64 %72, label %80 [
    i64 4, label %420
    i64 2, label %73
  ]

73:
  %74 = add nsw i64 %69, -1
  %75 = shl nuw nsw i64 1, %74
  %76 = sub nsw i64 0, %75
  %77 = icmp sge i64 %39, %76
  %78 = icmp slt i64 %39, %75
  %79 = and i1 %77, %78
  br i1 %79, label %420, label %85

80:
  %81 = icmp sgt i64 %39, -1
  %82 = shl nuw i64 1, %69
  %83 = icmp slt i64 %39, %82
  %84 = select i1 %81, i1 %83, i1 false
  br i1 %84, label %420, label %85

85:
  %86 = trunc i64 %32 to i32
  %87 = getelementptr inbounds i8, ptr %22, i32 %86
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef %87, ptr noundef nonnull @.str.5) #7
  br label %433

88:
  br i1 %27, label %89, label %420

89:
  switch i32 %3, label %246 [
    i32 1, label %90
    i32 2, label %198
  ]

90:
  %91 = load i32, ptr %28, align 8
  switch i32 %91, label %92 [
    i32 7, label %93
    i32 70, label %93
  ]

92:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %433

93:
  %94 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %95 = load ptr, ptr %94, align 8
  %96 = icmp eq i32 %91, 70
  %97 = select i1 %96, i32 24, i32 0
  %98 = getelementptr inbounds nuw i8, ptr %95, i32 %97
  %99 = getelementptr inbounds nuw i8, ptr %98, i32 16
  %100 = load i32, ptr %99, align 8
  %101 = zext i32 %100 to i64
  %102 = getelementptr inbounds nuw i8, ptr %21, i32 40
  %103 = load i64, ptr %102, align 8
  %104 = icmp eq i64 %103, %101
  br i1 %104, label %105, label %112

105:
  %106 = getelementptr inbounds nuw i8, ptr %98, i32 12
  %107 = load i32, ptr %106, align 4
  %108 = sext i32 %107 to i64
  %109 = getelementptr inbounds nuw i8, ptr %21, i32 48
  %110 = load i64, ptr %109, align 8
  %111 = icmp eq i64 %110, %108
  br i1 %111, label %113, label %112

112:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %433

113:
  %114 = getelementptr inbounds nuw i8, ptr %98, i32 4
  %115 = load i32, ptr %114, align 4
  %116 = sext i32 %115 to i64
  %117 = getelementptr inbounds nuw i8, ptr %22, i32 16
  %118 = load i64, ptr %117, align 8
  %119 = icmp eq i64 %118, %116
  br i1 %119, label %125, label %120

120:
  %121 = getelementptr inbounds nuw i8, ptr %22, i32 24
  %122 = load i64, ptr %121, align 8
  %123 = trunc i64 %122 to i32
  %124 = getelementptr inbounds i8, ptr %22, i32 %123
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.10, ptr noundef %124) #7
  br label %433

125:
  %126 = getelementptr inbounds nuw i8, ptr %22, i32 32
  %127 = load i64, ptr %126, align 8
  %128 = and i64 %127, 2
  %129 = icmp eq i64 %128, 0
  br i1 %129, label %130, label %145

130:
  %131 = icmp eq i32 %23, 0
  %132 = getelementptr inbounds nuw i8, ptr %98, i32 8
  %133 = load i32, ptr %132, align 8
  %134 = sext i32 %133 to i64
  %135 = getelementptr inbounds nuw i8, ptr %22, i32 40
  %136 = load i64, ptr %135, align 8
  %137 = trunc i64 %136 to i32
  %138 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %137
  br i1 %131, label %141, label %139

139:
  store i64 %134, ptr %138, align 8
  %140 = load i64, ptr %109, align 8
  br label %145

141:
  %142 = load i64, ptr %138, align 8
  %143 = icmp eq i64 %142, %134
  br i1 %143, label %145, label %144

144:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.11, ptr noundef nonnull @.str.3) #7
  br label %433

145:
  %146 = phi i64 [ %140, %139 ], [ %108, %141 ], [ %108, %125 ]
  %147 = getelementptr inbounds nuw i8, ptr %21, i32 112
  %148 = getelementptr inbounds nuw i8, ptr %98, i32 20
  %149 = load ptr, ptr %148, align 4
  %150 = icmp sgt i64 %146, 0
  br i1 %150, label %151, label %167

151:
  %152 = phi i64 [ %165, %164 ], [ 0, %145 ]
  %153 = trunc i64 %152 to i32
  %154 = getelementptr inbounds %struct.TernNumber, ptr %147, i32 %153
  %155 = load i64, ptr %154, align 8
  %156 = icmp eq i64 %155, 2
  br i1 %156, label %157, label %164

157:
  %158 = getelementptr inbounds i64, ptr %149, i32 %153
  %159 = load i64, ptr %158, align 8
  %160 = getelementptr inbounds nuw i8, ptr %154, i32 8
  %161 = load i64, ptr %160, align 8
  %162 = trunc i64 %161 to i32
  %163 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %162
  store i64 %159, ptr %163, align 8
  br label %164

164:
  %165 = add nuw nsw i64 %152, 1
  %166 = icmp eq i64 %165, %146
  br i1 %166, label %167, label %151

167:
  %168 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %169 = load i64, ptr %168, align 8
  %170 = and i64 %169, 1
  %171 = icmp eq i64 %170, 0
  br i1 %171, label %420, label %172

172:
  %173 = getelementptr inbounds nuw i8, ptr %98, i32 24
  %174 = load ptr, ptr %173, align 8
  %175 = icmp eq ptr %174, null
  br i1 %175, label %176, label %177

176:
  tail call fastcc void @tern_expected_strides(ptr noundef nonnull readonly %0) #7
  br label %433

177:
  %178 = load i64, ptr %109, align 8
  %179 = trunc i64 %178 to i32
  %180 = getelementptr inbounds %struct.TernNumber, ptr %147, i32 %179
  %181 = icmp sgt i64 %178, 0
  br i1 %181, label %182, label %420

182:
  %183 = phi i64 [ %196, %195 ], [ 0, %177 ]
  %184 = trunc i64 %183 to i32
  %185 = getelementptr inbounds %struct.TernNumber, ptr %180, i32 %184
  %186 = load i64, ptr %185, align 8
  %187 = icmp eq i64 %186, 2
  br i1 %187, label %188, label %195

188:
  %189 = getelementptr inbounds i64, ptr %174, i32 %184
  %190 = load i64, ptr %189, align 8
  %191 = getelementptr inbounds nuw i8, ptr %185, i32 8
  %192 = load i64, ptr %191, align 8
  %193 = trunc i64 %192 to i32
  %194 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %193
  store i64 %190, ptr %194, align 8
  br label %195

195:
  %196 = add nuw nsw i64 %183, 1
  %197 = icmp eq i64 %196, %178
  br i1 %197, label %420, label %182

198:
  %199 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %200 = load ptr, ptr %199, align 8
  %201 = load i32, ptr %28, align 8
  %202 = icmp eq i32 %201, 70
  %203 = select i1 %202, i32 24, i32 0
  %204 = getelementptr inbounds nuw i8, ptr %200, i32 %203
  %205 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %206 = load i64, ptr %205, align 8
  %207 = trunc i64 %206 to i32
  %208 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %207
  %209 = getelementptr inbounds nuw i8, ptr %22, i32 32
  %210 = load i64, ptr %209, align 8
  %211 = and i64 %210, 1
  %212 = icmp eq i64 %211, 0
  %213 = getelementptr inbounds nuw i8, ptr %204, i32 32
  %214 = load i64, ptr %213, align 8
  %215 = getelementptr inbounds nuw i8, ptr %21, i32 56
  %216 = load i64, ptr %215, align 8
  %217 = load ptr, ptr %204, align 8
  br i1 %212, label %225, label %218

218:
  %219 = trunc i64 %214 to i32
  %220 = getelementptr inbounds nuw i8, ptr %217, i32 %219
  store ptr %220, ptr %208, align 8
  %221 = ptrtoint ptr %220 to i32
  %222 = zext i32 %221 to i64
  %223 = sub i64 0, %216
  %224 = and i64 %216, %223
  br label %238

225:
  store ptr %217, ptr %208, align 8
  %226 = load i64, ptr %213, align 8
  %227 = getelementptr inbounds nuw i8, ptr %21, i32 80
  %228 = load i64, ptr %227, align 8
  %229 = trunc i64 %228 to i32
  %230 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %229
  store i64 %226, ptr %230, align 8
  %231 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %232 = load i64, ptr %231, align 8
  %233 = and i64 %232, 2
  %234 = icmp eq i64 %233, 0
  %235 = icmp eq i64 %226, 0
  %236 = select i1 %234, i1 true, i1 %235
  br i1 %236, label %238, label %237

237:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.14, ptr noundef nonnull @.str.3) #7
  br label %433

238:
  %239 = phi i64 [ %222, %218 ], [ %214, %225 ]
  %240 = phi i64 [ %224, %218 ], [ %216, %225 ]
  %241 = urem i64 %239, %240
  %242 = icmp eq i64 %241, 0
  br i1 %242, label %244, label %243

243:
  tail call fastcc void @tern_expected_aligned(ptr noundef nonnull readonly %0) #7
  br label %433

244:
  %245 = getelementptr inbounds nuw i8, ptr %208, i32 8
  store i64 %239, ptr %245, align 8
  br label %420

246:
  %247 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %248 = load ptr, ptr %247, align 8
  %249 = load i32, ptr %28, align 8
  %250 = icmp eq i32 %249, 70
  %251 = select i1 %250, i32 24, i32 0
  %252 = getelementptr inbounds nuw i8, ptr %248, i32 %251
  %253 = getelementptr inbounds nuw i8, ptr %21, i32 112
  %254 = getelementptr inbounds nuw i8, ptr %21, i32 48
  %255 = load i64, ptr %254, align 8
  %256 = trunc i64 %255 to i32
  %257 = getelementptr inbounds %struct.TernNumber, ptr %253, i32 %256
  %258 = icmp sgt i64 %255, 0
  br i1 %258, label %259, label %288

259:
  %260 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %261 = load ptr, ptr %260, align 4
  br label %262

262:
  %263 = phi i64 [ 0, %259 ], [ %281, %280 ]
  %264 = trunc i64 %263 to i32
  %265 = getelementptr inbounds %struct.TernNumber, ptr %253, i32 %264
  %266 = load i64, ptr %265, align 8
  %267 = icmp eq i64 %266, 0
  %268 = getelementptr inbounds nuw i8, ptr %265, i32 8
  br i1 %267, label %273, label %269

269:
  %270 = load i64, ptr %268, align 8
  %271 = trunc i64 %270 to i32
  %272 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %271
  br label %273

273:
  %274 = phi ptr [ %272, %269 ], [ %268, %262 ]
  %275 = load i64, ptr %274, align 8
  %276 = getelementptr inbounds i64, ptr %261, i32 %264
  %277 = load i64, ptr %276, align 8
  %278 = icmp eq i64 %277, %275
  br i1 %278, label %280, label %279

279:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.17, i64 noundef %263, ptr noundef nonnull %265, i64 noundef %275) #7
  br label %433

280:
  %281 = add nuw nsw i64 %263, 1
  %282 = icmp eq i64 %281, %255
  br i1 %282, label %283, label %262

283:
  %284 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %285 = load i64, ptr %284, align 8
  %286 = and i64 %285, 1
  %287 = icmp eq i64 %286, 0
  br i1 %287, label %317, label %293

288:
  %289 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %290 = load i64, ptr %289, align 8
  %291 = and i64 %290, 1
  %292 = icmp eq i64 %291, 0
  br i1 %292, label %317, label %353

293:
  %294 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %295 = load ptr, ptr %294, align 8
  br label %296

296:
  %297 = phi i64 [ 0, %293 ], [ %315, %314 ]
  %298 = trunc i64 %297 to i32
  %299 = getelementptr inbounds %struct.TernNumber, ptr %257, i32 %298
  %300 = load i64, ptr %299, align 8
  %301 = icmp eq i64 %300, 0
  %302 = getelementptr inbounds nuw i8, ptr %299, i32 8
  br i1 %301, label %307, label %303

303:
  %304 = load i64, ptr %302, align 8
  %305 = trunc i64 %304 to i32
  %306 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %305
  br label %307

307:
  %308 = phi ptr [ %306, %303 ], [ %302, %296 ]
  %309 = load i64, ptr %308, align 8
  %310 = getelementptr inbounds i64, ptr %295, i32 %298
  %311 = load i64, ptr %310, align 8
  %312 = icmp eq i64 %311, %309
  br i1 %312, label %314, label %313

313:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.18, i64 noundef %297, ptr noundef nonnull %299, i64 noundef %309) #7
  br label %433

314:
  %315 = add nuw nsw i64 %297, 1
  %316 = icmp eq i64 %315, %255
  br i1 %316, label %353, label %296

317:
  %318 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %319 = load ptr, ptr %318, align 8
  %320 = icmp eq ptr %319, null
  br i1 %320, label %353, label %321

321:
  %322 = getelementptr inbounds nuw i8, ptr %252, i32 12
  %323 = load i32, ptr %322, align 4
  %324 = icmp sgt i32 %323, 0
  br i1 %324, label %325, label %353

325:
  %326 = zext nneg i32 %323 to i64
  %327 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %328 = load ptr, ptr %327, align 4
  br label %329

329:
  %330 = phi i64 [ %326, %325 ], [ %333, %343 ]
  %331 = phi i32 [ 1, %325 ], [ %345, %343 ]
  %332 = phi i64 [ 1, %325 ], [ %346, %343 ]
  %333 = add nsw i64 %330, -1
  %334 = trunc i64 %333 to i32
  %335 = getelementptr inbounds i64, ptr %328, i32 %334
  %336 = load i64, ptr %335, align 8
  %337 = icmp eq i64 %336, 1
  br i1 %337, label %343, label %338

338:
  %339 = getelementptr inbounds i64, ptr %319, i32 %334
  %340 = load i64, ptr %339, align 8
  %341 = icmp eq i64 %340, %332
  %342 = zext i1 %341 to i32
  br label %343

343:
  %344 = phi i32 [ 1, %329 ], [ %342, %338 ]
  %345 = and i32 %344, %331
  %346 = mul nsw i64 %336, %332
  %347 = icmp samesign ugt i64 %330, 1
  br i1 %347, label %329, label %348

348:
  %349 = icmp eq i32 %345, 0
  %350 = icmp ne i64 %346, 0
  %351 = select i1 %349, i1 %350, i1 false
  br i1 %351, label %352, label %353

352:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.19, ptr noundef nonnull @.str.3) #7
  br label %433

353:
  %354 = phi i1 [ false, %288 ], [ true, %348 ], [ true, %321 ], [ true, %317 ], [ false, %314 ]
  %355 = getelementptr inbounds nuw i8, ptr %21, i32 96
  %356 = load i64, ptr %355, align 8
  %357 = icmp eq i64 %356, 0
  %358 = getelementptr inbounds nuw i8, ptr %21, i32 104
  br i1 %357, label %363, label %359

359:
  %360 = load i64, ptr %358, align 8
  %361 = trunc i64 %360 to i32
  %362 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %361
  br label %363

363:
  %364 = phi ptr [ %362, %359 ], [ %358, %353 ]
  %365 = load i64, ptr %364, align 8
  %366 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %367 = load i64, ptr %366, align 8
  br i1 %258, label %368, label %405

368:
  %369 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %370 = load ptr, ptr %369, align 4
  br label %371

371:
  %372 = phi i64 [ 0, %368 ], [ %379, %371 ]
  %373 = phi i64 [ 1, %368 ], [ %378, %371 ]
  %374 = trunc i64 %372 to i32
  %375 = getelementptr inbounds i64, ptr %370, i32 %374
  %376 = load i64, ptr %375, align 8
  %377 = freeze i64 %376
  %378 = mul i64 %377, %373
  %379 = add nuw nsw i64 %372, 1
  %380 = icmp eq i64 %379, %255
  br i1 %380, label %381, label %371

381:
  br i1 %354, label %405, label %382

382:
  %383 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %384 = load ptr, ptr %383, align 8
  br label %385

385:
  %386 = phi i64 [ 0, %382 ], [ %400, %385 ]
  %387 = phi i64 [ 1, %382 ], [ %399, %385 ]
  %388 = phi i64 [ %365, %382 ], [ %397, %385 ]
  %389 = trunc i64 %386 to i32
  %390 = getelementptr inbounds i64, ptr %370, i32 %389
  %391 = load i64, ptr %390, align 8
  %392 = add nsw i64 %391, -1
  %393 = getelementptr inbounds i64, ptr %384, i32 %389
  %394 = load i64, ptr %393, align 8
  %395 = mul nsw i64 %394, %392
  %396 = tail call i64 @llvm.smin.i64(i64 %395, i64 0)
  %397 = add nsw i64 %396, %388
  %398 = tail call i64 @llvm.abs.i64(i64 %395, i1 true)
  %399 = add nuw nsw i64 %398, %387
  %400 = add nuw nsw i64 %386, 1
  %401 = icmp eq i64 %400, %255
  br i1 %401, label %402, label %385

402:
  %403 = icmp eq i64 %378, 0
  %404 = select i1 %403, i64 0, i64 %399
  br label %405

405:
  %406 = phi i64 [ %365, %381 ], [ %397, %402 ], [ %365, %363 ]
  %407 = phi i64 [ %378, %381 ], [ %404, %402 ], [ 1, %363 ]
  %408 = trunc i64 %367 to i32
  %409 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %408
  %410 = getelementptr inbounds nuw i8, ptr %21, i32 64
  %411 = load i64, ptr %410, align 8
  %412 = mul nsw i64 %411, %406
  %413 = getelementptr inbounds nuw i8, ptr %409, i32 8
  %414 = load i64, ptr %413, align 8
  %415 = add nsw i64 %414, %412
  store i64 %415, ptr %413, align 8
  %416 = load i64, ptr %410, align 8
  %417 = mul nsw i64 %416, %407
  %418 = add nsw i64 %417, %415
  %419 = getelementptr inbounds nuw i8, ptr %409, i32 16
  store i64 %418, ptr %419, align 8
  br label %420

420:
  %421 = phi i32 [ %23, %29 ], [ %23, %80 ], [ %23, %88 ], [ %23, %73 ], [ 0, %244 ], [ 0, %177 ], [ %23, %48 ], [ 0, %167 ], [ %23, %59 ], [ 0, %405 ], [ %23, %67 ], [ %23, %71 ], [ 0, %195 ]
  %422 = load ptr, ptr %12, align 4
  %423 = load i64, ptr %422, align 8
  %424 = trunc i64 %423 to i32
  %425 = getelementptr inbounds i64, ptr %422, i32 %424
  store ptr %425, ptr %12, align 4
  %426 = load i32, ptr %13, align 4
  %427 = add nsw i32 %426, 1
  store i32 %427, ptr %13, align 4
  %428 = sext i32 %427 to i64
  %429 = load ptr, ptr %5, align 4
  %430 = getelementptr inbounds nuw i8, ptr %429, i32 8
  %431 = load i64, ptr %430, align 8
  %432 = icmp sgt i64 %431, %428
  br i1 %432, label %20, label %433

433:
  %434 = phi i32 [ -1, %352 ], [ -1, %237 ], [ -1, %45 ], [ -1, %54 ], [ -1, %64 ], [ -1, %85 ], [ -1, %92 ], [ -1, %112 ], [ -1, %120 ], [ -1, %176 ], [ -1, %144 ], [ -1, %243 ], [ -1, %279 ], [ -1, %313 ], [ 0, %4 ], [ 0, %420 ]
  ret i32 %434
}

define internal fastcc void @tern_expected_apart(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2) unnamed_addr #2 {
  %4 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #8
  call fastcc void @tern_begin(ptr noundef %4, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.22) #7
  %5 = sext i32 %2 to i64
  call fastcc void @tern_add_number(ptr noundef %4, i64 noundef %5) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.7) #7
  %6 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %7 = load ptr, ptr %6, align 4
  %8 = getelementptr inbounds nuw i8, ptr %1, i32 8
  %9 = load i64, ptr %8, align 8
  %10 = trunc i64 %9 to i32
  %11 = getelementptr inbounds i8, ptr %7, i32 %10
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef %11) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.23) #7
  %12 = load ptr, ptr %0, align 4
  %13 = getelementptr inbounds nuw i8, ptr %12, i32 12
  %14 = load ptr, ptr %13, align 4
  %15 = getelementptr inbounds nuw i8, ptr %4, i32 256
  %16 = load i32, ptr %15, align 8
  call void %14(ptr noundef %12, ptr noundef nonnull @.str.4, ptr noundef nonnull %4, i32 noundef %16) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #8
  ret void
}

define internal fastcc void @tern_add_text(ptr noundef nonnull captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = getelementptr inbounds %struct.TernAny, ptr %0, i32 %4
  store i32 8, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 4
  store i32 0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 8
  store i64 0, ptr %8, align 8
  store ptr %1, ptr %8, align 8
  ret void
}

define internal fastcc void @tern_add_number(ptr noundef nonnull captures(none) %0, i64 noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = getelementptr inbounds %struct.TernAny, ptr %0, i32 %4
  store i32 1, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 4
  store i32 0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 8
  store i64 %1, ptr %8, align 8
  ret void
}

define internal fastcc void @tern_expected(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) unnamed_addr #2 {
  %5 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #8
  call fastcc void @tern_begin(ptr noundef %5, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %3) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef %1, ptr noundef %5) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #8
  ret void
}

define internal fastcc void @tern_begin(ptr noundef nonnull captures(none) initializes((256, 260)) %0, ptr noundef nonnull readonly captures(none) %1) unnamed_addr #4 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  store i32 0, ptr %3, align 8
  %4 = getelementptr inbounds nuw i8, ptr %1, i32 4
  %5 = load ptr, ptr %4, align 4
  %6 = load i64, ptr %5, align 8
  %7 = trunc i64 %6 to i32
  %8 = getelementptr inbounds i8, ptr %5, i32 %7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull %8) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.6) #7
  %9 = getelementptr inbounds nuw i8, ptr %1, i32 16
  %10 = load i32, ptr %9, align 4
  %11 = sext i32 %10 to i64
  tail call fastcc void @tern_add_number(ptr noundef %0, i64 noundef %11) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.7) #7
  %12 = load ptr, ptr %4, align 4
  %13 = getelementptr inbounds nuw i8, ptr %1, i32 8
  %14 = load ptr, ptr %13, align 4
  %15 = getelementptr inbounds nuw i8, ptr %14, i32 8
  %16 = load i64, ptr %15, align 8
  %17 = trunc i64 %16 to i32
  %18 = getelementptr inbounds i8, ptr %12, i32 %17
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef %18) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.8) #7
  ret void
}

define internal fastcc void @tern_refuse(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef nonnull %2) unnamed_addr #2 {
  tail call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.9) #7
  %4 = getelementptr inbounds nuw i8, ptr %2, i32 256
  %5 = load i32, ptr %4, align 8
  %6 = add nsw i32 %5, 1
  store i32 %6, ptr %4, align 8
  %7 = getelementptr inbounds %struct.TernAny, ptr %2, i32 %5
  store i32 4, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %7, i32 4
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i32 8
  store i64 0, ptr %9, align 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i32 12
  %11 = load ptr, ptr %10, align 4
  store ptr %11, ptr %9, align 8
  %12 = load ptr, ptr %0, align 4
  %13 = getelementptr inbounds nuw i8, ptr %12, i32 12
  %14 = load ptr, ptr %13, align 4
  %15 = load i32, ptr %4, align 8
  tail call void %14(ptr noundef %12, ptr noundef %1, ptr noundef nonnull %2, i32 noundef %15) #10
  ret void
}

define internal fastcc void @tern_expected_tensor(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %4 = load ptr, ptr %3, align 4
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 8
  %6 = load ptr, ptr %5, align 4
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 16
  %8 = load i64, ptr %7, align 8
  %9 = trunc i64 %8 to i32
  %10 = getelementptr inbounds i8, ptr %4, i32 %9
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef %10) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.12) #7
  %11 = load ptr, ptr %5, align 4
  %12 = getelementptr inbounds nuw i8, ptr %11, i32 48
  %13 = load i64, ptr %12, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %13) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.2, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_strides(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.13) #7
  %3 = load ptr, ptr %0, align 4
  %4 = getelementptr inbounds nuw i8, ptr %3, i32 12
  %5 = load ptr, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %2, i32 256
  %7 = load i32, ptr %6, align 8
  call void %5(ptr noundef %3, ptr noundef nonnull @.str.4, ptr noundef nonnull %2, i32 noundef %7) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_aligned(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.15) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 8
  %4 = load ptr, ptr %3, align 4
  %5 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %6 = load i64, ptr %5, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %6) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.16) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef readonly captures(none) %3, i64 noundef %4) unnamed_addr #2 {
  %6 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #8
  call fastcc void @tern_begin(ptr noundef %6, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %1) #7
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.20) #7
  %7 = load i64, ptr %3, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %20, label %9

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %11 = load ptr, ptr %10, align 4
  %12 = getelementptr inbounds nuw i8, ptr %11, i32 64
  %13 = getelementptr inbounds nuw i8, ptr %3, i32 8
  %14 = load i64, ptr %13, align 8
  %15 = trunc i64 %14 to i32
  %16 = getelementptr inbounds i64, ptr %12, i32 %15
  %17 = load i64, ptr %16, align 8
  %18 = trunc i64 %17 to i32
  %19 = getelementptr inbounds i8, ptr %11, i32 %18
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %19) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.21) #7
  br label %20

20:
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %4) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %6) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #8
  ret void
}

declare i64 @llvm.abs.i64(i64, i1 immarg) #5

declare i64 @llvm.smin.i64(i64, i64) #6

attributes #0 = { nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { cold noinline nounwind optsize "no-builtins" }
attributes #3 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(argmem: readwrite) "no-builtins" }
attributes #4 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "no-builtins" }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { cold nobuiltin "no-builtins" }
attributes #8 = { nounwind }
attributes #9 = { nobuiltin "no-builtins" }
attributes #10 = { nobuiltin nounwind "no-builtins" }

